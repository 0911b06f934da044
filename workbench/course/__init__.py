"""Exercises that check themselves by what the service saw and holds, never by variables.

wb.course.check("contracts-2")     # done, or what is missing
wb.course.hint("contracts-2")      # up to three; the last one shows the call
wb.course.progress()
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.course.exercise import Exercise as Exercise
    from workbench.course.room import Banner as Banner
    from workbench.course.room import Checked as Checked
    from workbench.course.room import Hint as Hint
    from workbench.course.room import Progress as Progress
    from workbench.course.room import check as check
    from workbench.course.room import exercises as exercises
    from workbench.course.room import hint as hint
    from workbench.course.room import in_class as in_class
    from workbench.course.room import progress as progress
    from workbench.course.room import reset as reset
    from workbench.course.room import task as task
    from workbench.course.room import use as use

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)

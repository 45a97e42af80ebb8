import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'

const TOUCHES = ['schedules.list']

/** Pause and resume, at once, each the inverse of the other. */
export function useScheduleActs() {
  const toast = useToast()
  const pause = useAct((client, name: string) => client.schedules.pause({ name }), { touches: TOUCHES })
  const resume = useAct((client, name: string) => client.schedules.resume({ name }), { touches: TOUCHES })

  async function turn(name: string, isOn: boolean, isUndo = false) {
    try {
      await (isOn ? resume : pause).run(name)
      felt('done')
      if (isUndo) return
      toast.show({
        ...{ text: `“${name}” ${isOn ? 'resumed' : 'paused'}`, icon: isOn ? 'resume' : 'pause' },
        undo: () => void turn(name, !isOn, true),
      })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  return {
    isRunning: pause.isRunning || resume.isRunning,
    pause: (name: string) => void turn(name, false),
    resume: (name: string) => void turn(name, true),
  }
}

import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'

/** From this queue all alerts are sent. Health tells of it apart from the others, as `delivery`. */
export const ALERT_QUEUE = 'oncue'

const TOUCHES = { touches: ['health.get'] }

/** Pauses and resumes at once; each can be undone by the other. */
export function usePausing() {
  const toast = useToast()
  const adminLock = useLock('admin')
  const pausing = useAct((client, queue: string) => client.queues.pause({ queue }), TOUCHES)
  const resuming = useAct((client, queue: string) => client.queues.resume({ queue }), TOUCHES)

  async function change(queue: string, isPaused: boolean, canUndo: boolean): Promise<void> {
    try {
      await (isPaused ? pausing : resuming).run(queue)
      felt('done')
      const undo = () => void change(queue, !isPaused, false)
      const text = `${queue} ${isPaused ? 'paused' : 'resumed'}`
      toast.show({ text, icon: isPaused ? 'pause' : 'resume', ...(canUndo && { undo }) })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  return {
    pause: (queue: string) => change(queue, true, true),
    // Others may resume the queue of the alerts, and not pause it again.
    resume: (queue: string) => change(queue, false, queue !== ALERT_QUEUE || adminLock === null),
    isRunning: pausing.isRunning || resuming.isRunning,
  }
}

import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'

/** Sends all alerts. Health reports it apart from the other queues, as `delivery`. */
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
    // Operators may resume the alert queue, but only admins may pause it again.
    resume: (queue: string) => change(queue, false, queue !== ALERT_QUEUE || adminLock === null),
    isRunning: pausing.isRunning || resuming.isRunning,
  }
}

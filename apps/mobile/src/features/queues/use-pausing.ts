import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { duration } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'

/** Sends all alerts. Health reports it apart from the other queues, as `delivery`. */
export const ALERT_QUEUE = 'oncue'

const TOUCHES = { touches: ['health.get'] }

interface Change {
  readonly queue: string
  readonly isPaused: boolean
  /** When the pause ends by itself (null: never); for a resume, when the pause would have ended. */
  readonly until: Date | null
}

/** Pauses and resumes at once; each can be undone by the other. */
export function usePausing() {
  const toast = useToast()
  const adminLock = useLock('admin')
  const pausing = useAct((client, { queue, until }: Change) => {
    const forSeconds = until && secondsUntil(until)
    return client.queues.pause({ queue, ...(forSeconds !== null && { forSeconds }) })
  }, TOUCHES)
  const resuming = useAct((client, { queue }: Change) => client.queues.resume({ queue }), TOUCHES)

  async function run(change: Change, canUndo: boolean): Promise<void> {
    const { queue, isPaused, until } = change
    try {
      await (isPaused ? pausing : resuming).run(change)
      felt('done')
      const undo = () => void run({ ...change, isPaused: !isPaused }, false)
      const forHowLong = isPaused && until ? ` for ${duration(secondsUntil(until) * 1_000)}` : ''
      const text = isPaused ? `“${queue}” paused${forHowLong}` : `“${queue}” resumed`
      toast.show({ text, icon: isPaused ? 'pause' : 'resume', ...(canUndo && { undo }) })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  return {
    pause: (queue: string, forSeconds: number | null = null) => {
      const until = forSeconds === null ? null : new Date(serverNow() + forSeconds * 1_000)
      return run({ queue, isPaused: true, until }, true)
    },
    // Operators may resume the alert queue, but only admins may pause it again.
    resume: (queue: string, until: Date | null = null) =>
      run({ queue, isPaused: false, until }, queue !== ALERT_QUEUE || adminLock === null),
    isRunning: pausing.isRunning || resuming.isRunning,
  }
}

/** At least 1, as the API requires: the pause may have ended meanwhile. */
const secondsUntil = (at: Date) => Math.max(1, Math.round((at.getTime() - serverNow()) / 1_000))

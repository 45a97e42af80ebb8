import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct } from '../../lib/api.tsx'
import { outcomeInWords } from './words.ts'

/** Stops at once, without confirmation: while a question is open, more jobs would be changed. */
export function useStop() {
  const toast = useToast()
  const stop = useAct((client, id: string) => client.bulkOperations.stop({ id }), {
    touches: ['bulkOperations.get', 'bulkOperations.list', 'health.get'],
  })
  const run = (id: string) =>
    stop.run(id).then(
      (stopped) => toast.show({ text: `Stopped: ${outcomeInWords(stopped)}`, icon: 'stop' }),
      (error: unknown) => toast.show({ text: describeProblem(error).text, icon: 'warn' }),
    )
  return { run, isRunning: stop.isRunning }
}

import { useEffect, useState } from 'react'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { runsInWords } from './next-words.ts'
import { schedulePreview } from './queries.ts'

/** Long enough not to ask at every key. */
const PAUSE_MS = 400

/** The next runs of a pattern while it is typed, or what is wrong with it. */
export function NextRuns({ cron, timezone }: { readonly cron: string; readonly timezone: string }) {
  const typed = `${cron.trim().replace(/\s+/g, ' ')}\n${timezone.trim()}`
  const [settled, setSettled] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const [pattern = '', zone = ''] = settled.split('\n')
  const { data, error } = useRead(schedulePreview(pattern, zone))
  if (settled !== typed || pattern === '' || zone === '') return null
  if (error) {
    return (
      <Text variant="small" color="bad" aria-live="polite">
        {describeProblem(error).text}
      </Text>
    )
  }
  if (!data) return null
  return (
    <Text variant="small" color="textMuted" aria-live="polite">
      {`Next runs: ${runsInWords(data.runs, serverNow())}`}
    </Text>
  )
}

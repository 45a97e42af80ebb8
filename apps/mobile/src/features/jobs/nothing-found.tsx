import { Button } from '../../components/ui/button.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { labelOf } from './search-field.tsx'
import type { Reading, Search } from './use-search.ts'

/** What was searched, and where else to look. */
export function NothingFound({
  search: { line, readings, chosen, choose, search },
}: {
  readonly search: Search
}) {
  const others = readings.filter(
    ({ words, found }) => words !== chosen?.words && (!found || found.total > 0 || found.isCut),
  )
  const tried = readings.filter((reading) => reading !== chosen && !others.includes(reading))
  const searched = [chosen, ...tried].map((reading) => reading?.words)
  // Only payload searches get a start time that the user did not enter.
  const isLimited = chosen?.filter.payloadText !== undefined && !/\b(after|before):/.test(line)
  return (
    <EmptyState
      icon="search"
      title="Nothing found"
      text={`Searched: ${searched.join('; ')}.`}
      action={{ label: 'Clear search', onPress: () => search('') }}
    >
      {isLimited && <Button label="Search 7 days" icon="search" onPress={() => search(`${line} after:7d`)} />}
      {others.map((reading) => (
        <Button key={reading.words} label={offerOf(reading)} onPress={() => choose(reading)} />
      ))}
    </EmptyState>
  )
}

/** `Try topic is “mail”: 12`; of a reading that has found nothing in the jobs that it has read, only that there are more. */
function offerOf(reading: Reading): string {
  const { words, found } = reading
  return found?.isCut && found.total === 0 ? `Search further: ${words}` : `Try ${labelOf(reading)}`
}

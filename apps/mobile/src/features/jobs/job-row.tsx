import { isFinished, stateOf as stateAt } from '@oncue/sdk'
import { memo } from 'react'
import { StyleSheet, View } from 'react-native'
import { Row } from '../../components/ui/row.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago, duration, shortId, until } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import type { JobLine } from './queries.ts'
import { openWaits, waitInWords } from './waits.ts'

/** A fixed height, so that the list can compute the position of each of 10,000 rows. Not used with large text. */
export const ROW_HEIGHT = 72

export interface JobRowProps {
  readonly job: JobLine
  /** Absent: as high as its content. */
  readonly height: number | undefined
  /** Null: not in select mode. */
  readonly isSelected: boolean | null
  readonly isCurrent: boolean
  readonly onPress: (id: string) => void
  readonly onSelect: (id: string) => void
}

export const JobRow = memo(function JobRow(props: JobRowProps) {
  const { job, height, isSelected, isCurrent, onPress, onSelect } = props
  const { id, topic, queue, status, error, created } = job
  // What it waits for needs the whole line, unless it also failed.
  const isSuspended = stateOf(job) === 'suspended' && error === null
  const line = height === undefined ? [styles.line, styles.wrapped] : styles.line
  const lines = height === undefined ? {} : ({ numberOfLines: 1 } as const)
  const about = error !== null && status !== 'completed' ? error : describe(job)
  return (
    <Row
      label={`${topic} in ${queue}, ${stateInWords(job)}, ${about}, created ${ago(created, serverNow())}`}
      height={height}
      isSelected={isSelected}
      isCurrent={isCurrent}
      onPress={() => (isSelected === null ? onPress(id) : onSelect(id))}
      onLongPress={() => onSelect(id)}
    >
      <View style={line}>
        <Text variant="heading" {...lines} style={styles.words}>
          {topic}
        </Text>
        <JobState job={job} />
      </View>
      <View style={line}>
        <Text variant="small" color="textMuted" {...lines} style={styles.words}>
          {isSuspended ? about : `${queue} · ${about}`}
        </Text>
        <Text variant="small" color="textMuted">
          <Ago from={created} />
        </Text>
      </View>
    </Row>
  )
})

type Shown = Parameters<typeof stateAt>[0] & Parameters<typeof openWaits>[0] & Pick<JobLine, 'ending'>

/** The state of a job by the server's clock. One that waits outside of its worker is suspended, never late. */
export function stateOf(job: Shown) {
  return isUndoing(job) ? 'undoing' : listedAs(job)
}

const isUndoing = ({ ending, status }: Shown) => Boolean(ending) && !isFinished(status)

/** The state by which lists are filtered and counts are made, in which a job also is while it is undone. */
function listedAs(job: Shown) {
  const now = serverNow()
  return openWaits(job, now) ? 'suspended' : stateAt(job, new Date(now))
}

/** "Failed"; "Undoing, suspended" of a job that the list of suspended ones has, too. */
export function stateInWords(job: Shown): string {
  const words = [...(isUndoing(job) ? [STATES.undoing.word] : []), STATES[listedAs(job)].word]
  return words.map((word, at) => (at === 0 ? word : word.toLowerCase())).join(', ')
}

/** Its state. Of one that is being undone both; where there is room for one word, the other is an icon. */
export function JobState({ job, isShort = false }: { readonly job: Shown; readonly isShort?: boolean }) {
  const state = stateOf(job)
  const word = isShort ? STATES[state].word : stateInWords(job)
  return <StateWord state={state} word={word} icon={STATES[listedAs(job)].icon} />
}

/** What a suspended job waits for, by the server's clock; null: it is not suspended. */
export function waitOf(job: Shown): string | null {
  const now = serverNow()
  const waits = openWaits(job, now)
  return waits && waitInWords(waits, now, job.ending !== null)
}

function describe(job: JobLine): string {
  const { id, status, run, runAt, startedAt, finishedAt } = job
  const wait = waitOf(job)
  if (wait !== null) return wait
  const parts = [shortId(id)]
  if (status === 'pending' && runAt.getTime() > serverNow()) parts.push(`due ${until(runAt, serverNow())}`)
  if (startedAt && finishedAt) parts.push(`took ${duration(finishedAt.getTime() - startedAt.getTime())}`)
  if (run > 1) parts.push(`run ${run}`)
  return parts.join(' · ')
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', alignItems: 'center', gap: space.s },
  wrapped: { flexWrap: 'wrap' },
  words: { flexGrow: 1, flexShrink: 1, flexBasis: 150, minWidth: 0 },
})

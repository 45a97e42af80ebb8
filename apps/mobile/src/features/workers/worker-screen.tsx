import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { Fact } from '../../components/ui/fact.tsx'
import { Row } from '../../components/ui/row.tsx'
import { type StateName, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age, Ago } from '../../components/ui/ticking.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow, useFrozenAt } from '../../lib/clock.ts'
import { moment, number, shortId } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { oneWorker, type WorkerDetails } from './queries.ts'
import { heldInWords, stateOf } from './words.ts'

type Run = WorkerDetails['runs'][number]

/** One worker: what runs on it now; of one that was lost, what it held and what became of that. */
export function WorkerScreen({ workerId }: { readonly workerId: string }) {
  const read = useRead(oneWorker(workerId))
  return (
    <Page
      title={read.data?.host ?? 'Worker'}
      parent="/workers"
      onRefresh={() => void read.refetch()}
      {...(read.data && { badge: <StateWord state={stateOf(read.data, serverNow())} /> })}
    >
      <ReadState read={read}>{(worker) => <Shown worker={worker} />}</ReadState>
    </Page>
  )
}

function Shown({ worker }: { readonly worker: WorkerDetails }) {
  const { id, pid, version, startedAt, lastBeat, queues, topics, service, running, concurrency, ended } =
    worker
  return (
    <>
      <View style={styles.content}>
        <View>
          {ended && (
            <Fact name={ended.how === 'lost' ? 'Found dead' : 'Stopped'} value={<At time={ended.at} />} />
          )}
          {ended?.how === 'lost' && <Fact name="Held" value={heldInWords(ended)} />}
          {!ended && <Fact name="Slots" value={`${number(running)} of ${number(concurrency)} in use`} />}
          <Fact name="Last heartbeat" value={<At time={lastBeat} />} />
          <Fact name="Started" value={<At time={startedAt} />} />
          <Fact name="Id" value={shortId(id)} />
          <Fact name="Process" value={String(pid)} />
          <Fact name="Version" value={version} />
          {service !== null && <Fact name="Service" value={service} />}
        </View>
        <Names title="Queues" names={queues} param="queue" />
        {topics && topics.length > 0 && <Names title="Topics" names={topics} param="topic" />}
        <Heading>{ended ? 'What it held' : 'Running now'}</Heading>
      </View>
      <Runs worker={worker} />
    </>
  )
}

function At({ time }: { readonly time: Date }) {
  const isFrozen = useFrozenAt() !== null
  return (
    <Text>
      {moment(time)}
      {!isFrozen && (
        <>
          , <Ago from={time} />
        </>
      )}
    </Text>
  )
}

function Runs({ worker: { runs, runsAreComplete, ended } }: { readonly worker: WorkerDetails }) {
  const open = useOpen('jobId')
  const none = ended ? 'It held no jobs.' : 'Nothing runs on it.'
  return (
    <>
      {runs.map((run) => (
        <RunRow key={run.id} run={run} onPress={() => open(run.id)} />
      ))}
      {(runs.length === 0 || !runsAreComplete) && (
        <Text color="textMuted" style={styles.note}>
          {runsAreComplete ? none : 'There may be more: only the first jobs of its queues were searched.'}
        </Text>
      )}
    </>
  )
}

const OUTCOMES: Readonly<Record<NonNullable<Run['outcome']>, { state: StateName; word: string }>> = {
  released: { state: 'pending', word: 'Put back' },
  failed: { state: 'failed', word: 'Failed' },
  cancelled: { state: 'cancelled', word: 'Cancelled' },
}

function RunRow({ run, onPress }: { readonly run: Run; readonly onPress: () => void }) {
  const { id, topic, queue, outcome, startedAt } = run
  const became = outcome && OUTCOMES[outcome]
  const what = became ? became.word.toLowerCase() : startedAt ? 'running' : 'prefetched'
  return (
    <Row
      label={`Job ${id}, ${topic}, ${what}`}
      onPress={onPress}
      trailing={
        <StateWord
          state={became?.state ?? (startedAt ? 'processing' : 'pending')}
          word={became?.word ?? (startedAt ? 'Running' : 'Prefetched')}
        />
      }
    >
      <Text variant="heading">{topic}</Text>
      <Text variant="small" color="textMuted">
        {`in ${queue} · ${shortId(id)} · run ${run.run}`}
        {startedAt && (
          <>
            {' · for '}
            <Age from={startedAt} />
          </>
        )}
      </Text>
    </Row>
  )
}

interface NamesProps {
  readonly title: string
  readonly names: readonly string[]
  readonly param: 'queue' | 'topic'
}

function Names({ title, names, param }: NamesProps) {
  const open = useOpen(param)
  return (
    <View style={styles.section}>
      <Heading>{title}</Heading>
      <View style={styles.chips}>
        {names.map((name) => (
          <Chip key={name} label={name} onPress={() => open(name)} />
        ))}
      </View>
    </View>
  )
}

function Heading({ children }: { readonly children: ReactNode }) {
  return (
    <Text variant="heading" level={2}>
      {children}
    </Text>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, paddingTop: space.m, gap: space.xl },
  section: { gap: space.s },
  chips: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s },
  note: { paddingHorizontal: space.l, paddingVertical: space.s },
})

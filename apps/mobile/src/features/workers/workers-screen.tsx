import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age, Ago } from '../../components/ui/ticking.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { age, number } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { type Worker, workerList } from './queries.ts'
import { byTrouble, missingSince, summaryOf, versionsOf } from './words.ts'

/** Who runs the jobs, and who does not any more. */
export function WorkersScreen() {
  const read = useRead(workerList)
  const now = serverNow()
  return (
    <Page title="Workers" parent="/settings" onRefresh={() => void read.refetch()}>
      <ReadState
        read={read}
        isEmpty={(workers) => workers.length === 0}
        empty={{
          icon: 'workers',
          title: 'No workers',
          text: 'Jobs wait until a worker runs. Start one: oncue worker --import ./jobs.ts',
        }}
      >
        {(workers) => (
          <>
            <Text color="textMuted" style={styles.summary}>
              {summaryOf(workers, now)}
            </Text>
            <Versions workers={workers} />
            {byTrouble(workers, now).map((worker) => (
              <WorkerRow key={worker.id} worker={worker} />
            ))}
          </>
        )}
      </ReadState>
    </Page>
  )
}

function Versions({ workers }: { readonly workers: readonly Worker[] }) {
  const versions = versionsOf(workers)
  if (versions.length < 2) return null
  return (
    <Banner
      tone="neutral"
      icon="workers"
      text={`${number(versions.length)} versions run side by side`}
      detail={`${versions.join(', ')}: fine during a deploy.`}
    />
  )
}

function WorkerRow({ worker }: { readonly worker: Worker }) {
  const { host, pid, queues, running, concurrency, version, startedAt, lastBeat } = worker
  const gone = missingSince(worker, serverNow())
  const state = gone ? `missing for ${age(gone, serverNow())}` : 'alive'
  return (
    <Row
      label={`${host}, process ${pid}, ${state}, ${running} of ${concurrency} slots in use, queues ${queues.join(', ')}`}
      trailing={
        <View style={styles.load}>
          <Text variant="title" color={gone ? 'textMuted' : 'text'}>
            {`${number(running)} / ${number(concurrency)}`}
          </Text>
          <Text variant="small" color="textMuted">
            running / slots
          </Text>
        </View>
      }
    >
      <View style={styles.head}>
        <StateWord state={gone ? 'missing' : 'alive'} />
        <Text variant="small" color={gone ? 'bad' : 'textMuted'}>
          {gone ? 'for ' : 'last heartbeat '}
          {gone ? <Age from={gone} /> : <Ago from={lastBeat} />}
        </Text>
      </View>
      <Text variant="heading">{host}</Text>
      <Text variant="label" color="textMuted">
        {queues.join(', ')}
      </Text>
      <Text variant="small" color="textMuted">
        {`process ${pid} · version ${version} · up `}
        <Age from={startedAt} />
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  summary: { paddingHorizontal: space.l, paddingBottom: space.m },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.s,
    paddingBottom: 2,
  },
  load: { alignItems: 'flex-end' },
})

import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age, Ago } from '../../components/ui/ticking.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { age, ago, FIXED, number, shortId } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { everyWorker, type Worker, workerList } from './queries.ts'
import { byTrouble, heldInWords, missingSince, summaryOf, versionsOf } from './words.ts'

/** All workers, alive and missing. */
export function WorkersScreen({ openId }: { readonly openId?: string }) {
  const [withEnded, setWithEnded] = useState(false)
  const read = useRead(withEnded ? everyWorker : workerList)
  const open = useOpen('workerId')
  const now = serverNow()
  return (
    <Page
      title="Workers"
      parent="/settings"
      isAside={openId !== undefined}
      onRefresh={() => void read.refetch()}
    >
      <View style={styles.filter}>
        <Chip label="Show ended" isOn={withEnded} onPress={() => setWithEnded(!withEnded)} />
      </View>
      <ReadState
        read={read}
        isEmpty={(workers) => workers.length === 0}
        empty={{
          icon: 'workers',
          title: 'No workers',
          text: 'Jobs wait until a worker runs. Start one: oncue worker --import ./jobs.ts',
        }}
      >
        {(workers) => {
          const here = workers.filter(({ ended }) => ended === null)
          const gone = workers.filter(({ ended }) => ended !== null)
          return (
            <>
              <Text color="textMuted" style={styles.summary}>
                {summaryOf(here, now)}
              </Text>
              <Versions workers={here} />
              {[...byTrouble(here, now), ...gone].map((worker) => (
                <WorkerRow
                  key={worker.id}
                  worker={worker}
                  isCurrent={worker.id === openId}
                  onPress={() => open(worker.id)}
                />
              ))}
            </>
          )
        }}
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

interface WorkerRowProps {
  readonly worker: Worker
  readonly isCurrent: boolean
  readonly onPress: () => void
}

function WorkerRow({ worker, ...press }: WorkerRowProps) {
  return worker.ended ? (
    <EndedRow worker={worker} ended={worker.ended} {...press} />
  ) : (
    <LiveRow worker={worker} {...press} />
  )
}

/** A line may break between these, and not within one. */
function processInWords({ id, pid, version }: Worker): string {
  return [`worker ${shortId(id)}`, `process ${pid}`, `version ${version}`]
    .map((fact) => fact.replace(' ', FIXED))
    .join(`${FIXED}· `)
}

function EndedRow({
  worker,
  ended,
  ...press
}: WorkerRowProps & { readonly ended: NonNullable<Worker['ended']> }) {
  const { id, host, pid, queues } = worker
  const held = ended.how === 'lost' ? `held ${heldInWords(ended)}` : 'held no jobs'
  return (
    <Row
      label={`${host}, process ${pid}, ${ended.how} ${ago(ended.at, serverNow())}, ${held}, worker ${shortId(id)}`}
      {...press}
    >
      <View style={styles.head}>
        <StateWord state={ended.how} />
        <Text variant="small" color="textMuted">
          <Ago from={ended.at} />
        </Text>
      </View>
      <Text variant="heading" color="textMuted">
        {host}
      </Text>
      <Text variant="label" color="textMuted">
        {queues.join(', ')}
      </Text>
      <Text variant="small" color="textMuted">
        {`${processInWords(worker)}${ended.how === 'lost' ? ` · ${held}` : ''}`}
      </Text>
    </Row>
  )
}

function LiveRow({ worker, ...press }: WorkerRowProps) {
  const { id, host, pid, queues, running, concurrency, startedAt, lastBeat } = worker
  const gone = missingSince(worker, serverNow())
  const state = gone ? `missing for ${age(gone, serverNow())}` : 'alive'
  return (
    <Row
      label={`${host}, process ${pid}, ${state}, ${running} of ${concurrency} slots in use, queues ${queues.join(', ')}, worker ${shortId(id)}`}
      {...press}
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
          {gone ? 'for ' : 'heartbeat '}
          {gone ? <Age from={gone} /> : <Ago from={lastBeat} />}
        </Text>
      </View>
      <Text variant="heading">{host}</Text>
      <Text variant="label" color="textMuted">
        {queues.join(', ')}
      </Text>
      <Text variant="small" color="textMuted">
        {`${processInWords(worker)}${FIXED}· up${FIXED}`}
        <Age from={startedAt} />
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  filter: { flexDirection: 'row', paddingHorizontal: space.l },
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

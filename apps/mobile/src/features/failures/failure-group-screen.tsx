import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago, Until } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { number, shortId } from '../../lib/format.ts'
import { useKeyboard } from '../../lib/use-keyboard.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { ConfirmSheet } from '../bulk-operations/confirm-sheet.tsx'
import { type Action, many } from '../bulk-operations/words.ts'
import { FailureChart } from '../lazy-charts.tsx'
import { ErrorView } from './error-view.tsx'
import { useFailureFilter, WINDOW_OPTIONS, WINDOWS, type WindowName } from './filter.ts'
import {
  errorOf,
  type FailedJobs,
  type FailureGroup,
  failedJobs,
  failedOf,
  failureGroup,
  retryingJobs,
  retryingOf,
} from './queries.ts'

/** One failure group: its error, how often it occurred, its jobs, and the actions on all of them. */
export function FailureGroupScreen({ fingerprint }: { readonly fingerprint: string }) {
  const { filter } = useFailureFilter()
  const [window, setWindow] = useState<WindowName>(filter.window)
  const group = useRead(failureGroup(fingerprint, window))
  const jobs = useRead(failedJobs(fingerprint))
  const retrying = useRead(retryingJobs(fingerprint)).data
  const [asked, setAsked] = useState<Action | null>(null)
  const lock = useLock()
  const failed = jobs.data
  const isNoneLeft = failed?.count === 0
  const isRetrying = retrying !== undefined && retrying.count > 0
  useKeyboard({ r: () => lock === null && !isNoneLeft && setAsked('requeue') })

  return (
    <Page
      title={group.data ? errorOf(group.data).class : 'Failure'}
      parent="/failures"
      badge={group.data?.isNew && <Badge label="new" tone="warn" />}
      onRefresh={() => {
        void group.refetch()
        void jobs.refetch()
      }}
      bar={
        (!isNoneLeft || isRetrying) && (
          <ActionBar>
            {!isNoneLeft && (
              <>
                <Button
                  label={retryLabel(failed)}
                  icon="requeue"
                  variant="primary"
                  lock={lock}
                  onPress={() => setAsked('requeue')}
                />
                <Button label="Delete" icon="remove" lock={lock} onPress={() => setAsked('delete')} />
              </>
            )}
            {isRetrying && (
              <Button
                label={
                  retrying.count === 1
                    ? 'Run retrying job now'
                    : `Run ${many(retrying.count, retrying.countIsExact)} retrying now`
                }
                icon="runNow"
                variant={isNoneLeft ? 'primary' : 'secondary'}
                lock={lock}
                hint="Jobs that failed like this, without waiting for their next try"
                onPress={() => setAsked('run_now')}
              />
            )}
            {isRetrying && (
              <Button
                label={
                  retrying.count === 1
                    ? 'Cancel retrying job'
                    : `Cancel ${many(retrying.count, retrying.countIsExact)} retrying`
                }
                icon="cancel"
                lock={lock}
                hint="Jobs that failed like this and will be retried automatically"
                onPress={() => setAsked('cancel')}
              />
            )}
          </ActionBar>
        )
      }
    >
      <ReadState read={group}>
        {(shown) =>
          shown ? (
            <Shown {...{ group: shown, window }} onWindow={setWindow} />
          ) : (
            <NoneLeft {...{ window }} onWindow={setWindow} />
          )
        }
      </ReadState>
      {retrying && <Jobs title="Retrying" found={retrying} filter={retryingOf(fingerprint)} />}
      {failed && <Jobs title="Gave up" found={failed} filter={failedOf(fingerprint)} />}
      {asked && (
        <ConfirmSheet
          action={asked}
          filter={isOfRetrying(asked) ? retryingOf(fingerprint) : failedOf(fingerprint)}
          scope={scopeOf(asked, group.data)}
          {...(!isOfRetrying(asked) && failed && { count: failed.count })}
          onClose={() => setAsked(null)}
        />
      )}
    </Page>
  )
}

function retryLabel(failed: FailedJobs | undefined): string {
  if (failed?.count === 1) return 'Retry 1 job'
  return failed ? `Retry these ${many(failed.count, failed.countIsExact)}` : 'Retry these'
}

const isOfRetrying = (action: Action) => action === 'cancel' || action === 'run_now'

function scopeOf(action: Action, group: FailureGroup | null | undefined): string {
  const what = isOfRetrying(action) ? 'jobs that will be retried after' : 'failed jobs with'
  return group ? `${what} ${errorOf(group).class}, ${group.topics.join(', ')}` : `${what} this error`
}

interface WindowProps {
  readonly window: WindowName
  readonly onWindow: (window: WindowName) => void
}

function Shown({ group, window, onWindow }: WindowProps & { readonly group: FailureGroup }) {
  const { colors } = useTheme()
  const { sample, topics, queues, firstSeen, lastSeen, trend } = group
  return (
    <View style={styles.content}>
      <View style={styles.facts}>
        {group.retrying > 0 && <Fact name="retrying">{many(group.retrying, group.retryingIsExact)}</Fact>}
        {group.nextTryAt && (
          <Fact name="next try">
            <Until to={group.nextTryAt} />
          </Fact>
        )}
        <Fact name={`gave up in ${WINDOWS[window].words}`}>{number(group.failed)}</Fact>
        <Fact name="last seen">
          <Ago from={lastSeen} />
        </Fact>
        <Fact name="first seen">
          <Ago from={firstSeen} />
        </Fact>
        <Fact name={topics.length === 1 ? 'topic' : 'topics'}>{topics.join(', ')}</Fact>
        <Fact name={queues.length === 1 ? 'queue' : 'queues'}>{queues.join(', ')}</Fact>
      </View>
      {sample.error ? (
        <ErrorView error={sample.error} />
      ) : (
        <Text color="textMuted">No error was stored with these jobs.</Text>
      )}
      <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
        <Segmented label="Time range" options={WINDOW_OPTIONS} value={window} onChange={onWindow} />
        <FailureChart trend={trend} ms={WINDOWS[window].ms} />
      </View>
    </View>
  )
}

function NoneLeft({ window, onWindow }: WindowProps) {
  return (
    <EmptyState
      title="No such failure"
      text={`No job is retrying after this error, and none that gave up in ${WINDOWS[window].words} is left. Retried, deleted and pruned jobs are not listed.`}
      {...(window !== '7d' && {
        action: { label: 'Show the last 7 days', onPress: () => onWindow('7d') },
      })}
    />
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <View style={styles.fact}>
      <Text variant="title">{children}</Text>
      <Text variant="small" color="textMuted">
        {name}
      </Text>
    </View>
  )
}

interface JobsProps {
  readonly title: string
  readonly found: FailedJobs
  readonly filter: { readonly status: string; readonly fingerprint: string }
}

/** The newest jobs, and a link to all. */
function Jobs({ title, found, filter }: JobsProps) {
  const router = useRouter()
  const open = useOpen('jobId')
  if (found.count === 0) return null
  const all = `All ${many(found.count, found.countIsExact)} jobs`
  return (
    <View style={styles.jobs}>
      <View style={styles.heading}>
        <Text variant="heading" level={2}>
          {title}
        </Text>
      </View>
      {found.sample.slice(0, 5).map(({ id, topic, queue }) => (
        <Row key={id} label={`Job ${id}, ${topic} in ${queue}`} onPress={() => open(id)}>
          <Text variant="label">
            {topic} <Text variant="code">{shortId(id)}</Text>
          </Text>
          <Text variant="small" color="textMuted">
            in {queue}
          </Text>
        </Row>
      ))}
      {found.count > 1 && (
        <Row label={all} onPress={() => router.push({ pathname: '/jobs', params: filter })}>
          <Text variant="heading" color="accent">
            {all}
          </Text>
        </Row>
      )}
    </View>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, gap: space.l },
  facts: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.xl, rowGap: space.m },
  fact: { gap: 2, maxWidth: '100%' },
  card: { borderWidth: 1, borderRadius: radius.l, padding: space.l, gap: space.m },
  jobs: { paddingTop: space.xl },
  heading: { paddingHorizontal: space.l, paddingBottom: space.s },
})

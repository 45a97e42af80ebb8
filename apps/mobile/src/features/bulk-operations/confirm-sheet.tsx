import { isOncueError, type Outputs } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { moment, number, count as plural } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useIsLargeText, useTheme } from '../../theme/use-theme.ts'
import { preview, TOUCHED } from './queries.ts'
import {
  type Action,
  type BulkOperation,
  type Filter,
  jobs,
  leftAloneInWords,
  leftAloneOf,
  many,
  phraseOf,
  scopeOf,
  VERBS,
} from './words.ts'

/** From this count on, the button must be held: a slip of the thumb would do damage. */
const HOLD_FROM = 100
const SPREAD_SECONDS = 600
/** How many jobs are tried first. */
const CANARY = { count: 5, maxFailed: 0 }
/** The server stops the rest when more than this share fails again, even if the app is closed. */
const STOP_WHEN_FAILING = 0.5
const SHOWN_KINDS = 3

type Preview = Outputs['bulkOperations']['preview']

export interface ConfirmSheetProps {
  readonly action: Action
  readonly filter: Filter
  /** Which jobs, where the filter alone does not say it well. */
  readonly scope?: string
  /** How many were on the screen when it was pressed. */
  readonly count?: number
  readonly onClose: () => void
  /** Called when the operation has started and its page is open. */
  readonly onDone?: (operation: BulkOperation) => void
}

/**
 * Asks before a bulk operation: verb, count, scope, environment, and the moment at which jobs were matched. Open
 * while it is mounted. On confirmation the operation starts on the server and its page opens.
 */
export function ConfirmSheet(props: ConfirmSheetProps) {
  const { action, filter, scope = scopeOf(filter), count, onClose, onDone } = props
  // One key for each preview: a second press, or one after a lost response, does not start it twice.
  const [look, setLook] = useState(newKey)
  const [spread, setSpread] = useState<'once' | 'spread'>('once')
  const [first, setFirst] = useState<'all' | 'canary'>('all')
  const [problem, setProblem] = useState<unknown>(null)
  const hasOutcomes = action === 'requeue' || action === 'run_now'
  const read = useRead(preview(action, filter, look))
  const open = useOpen('bulkOperationId')
  const begin = useAct(
    (client, { asOf, count: expectedCount }: Preview) =>
      client.bulkOperations.run({
        ...{ action, filter, asOf, expectedCount, idempotencyKey: look },
        spreadSeconds: spread === 'spread' ? SPREAD_SECONDS : 0,
        ...(first === 'canary' && { canary: CANARY, stopWhenFailing: STOP_WHEN_FAILING }),
      }),
    { touches: TOUCHED },
  )
  const lookAgain = () => {
    setProblem(null)
    setLook(newKey())
  }
  const confirm = async (seen: Preview) => {
    setProblem(null)
    try {
      const operation = await begin.run(seen)
      felt('done')
      onClose()
      onDone?.(operation)
      open(operation.id)
    } catch (error) {
      felt('refused')
      setProblem(error)
    }
  }
  const found = read.data
  const acted = found && actedOf(action, found)

  return (
    <Sheet
      isOpen
      title={titleOf(action, acted)}
      // Closing now would look like cancelling.
      onClose={begin.isRunning ? stay : onClose}
      footer={
        found &&
        acted &&
        acted.count > 0 && (
          <ConfirmButton
            action={action}
            count={acted.count}
            isExact={acted.countIsExact}
            isDanger={!hasOutcomes}
            isBusy={begin.isRunning}
            onConfirm={() => void confirm(found)}
          />
        )
      }
    >
      <ReadState read={read} skeleton={<Loading />}>
        {(seen) => (
          <>
            <Facts {...{ action, scope, seen, count }} />
            {hasOutcomes && seen.count > CANARY.count && (
              <View style={styles.spread}>
                <Segmented
                  label="How many first"
                  options={[
                    { value: 'all', label: 'All' },
                    { value: 'canary', label: `Try ${CANARY.count} first` },
                  ]}
                  value={first}
                  onChange={setFirst}
                />
                {first === 'canary' && (
                  <Text variant="small" color="textMuted">
                    The others follow by themselves when these complete. It stops when one of them, or later
                    more than half, fails again.
                  </Text>
                )}
              </View>
            )}
            {hasOutcomes && seen.count > 1 && (
              <View style={styles.spread}>
                <Segmented
                  label="How fast"
                  options={[
                    { value: 'once', label: 'At once' },
                    { value: 'spread', label: 'Spread over 10 min' },
                  ]}
                  value={spread}
                  onChange={setSpread}
                />
                <Text variant="small" color="textMuted">
                  {paceInWords(spread, first)}
                </Text>
              </View>
            )}
          </>
        )}
      </ReadState>
      {problem !== null && <Refused problem={problem} onLookAgain={lookAgain} />}
    </Sheet>
  )
}

function paceInWords(spread: 'once' | 'spread', first: 'all' | 'canary'): string {
  const some = `The first ${CANARY.count}`
  if (spread === 'once')
    return first === 'all'
      ? 'All of them are due at once.'
      : `${some} are due at once, the rest when these complete.`
  const begin = first === 'all' ? 'A few' : `${some}, then the others a few`
  return `${begin} at a time, so that the recovering service is not overloaded.`
}

function Facts({
  action,
  scope,
  seen,
  count,
}: {
  readonly action: Action
  readonly scope: string
  readonly seen: Preview
  readonly count: number | undefined
}) {
  const leftAlone = leftAloneInWords(action, seen.byStatus, seen.countIsExact && seen.inspected >= seen.count)
  if (seen.count === 0) return <Text>No jobs match any more: they were already handled, or pruned.</Text>
  return (
    <>
      <Fact name="What">
        <Text strong>{scope}</Text>
        {seen.byError.length > 1 &&
          seen.byError.slice(0, SHOWN_KINDS).map((error) => (
            <Text key={`${error.class} ${error.message}`} variant="small" color="textMuted" numberOfLines={1}>
              {shareInWords(error.count, seen)} × {error.class}
            </Text>
          ))}
        {seen.errorKinds > SHOWN_KINDS && (
          <Text variant="small" color="textMuted">
            and {plural(seen.errorKinds - SHOWN_KINDS, 'more kind')}
          </Text>
        )}
      </Fact>
      <Fact name="Where">
        <EnvironmentBadge />
      </Fact>
      <Fact name="Matched at">
        <Text>{moment(seen.asOf)}</Text>
        <Text variant="small" color="textMuted">
          {count !== undefined && count !== seen.count && `You saw ${number(count)}. `}
          Jobs that match later are left alone.
        </Text>
      </Fact>
      {leftAlone !== null && (
        <Text color="warn" strong>
          {leftAlone}
        </Text>
      )}
      <Text variant="small" color="textMuted">
        {CONSEQUENCES[action]}
      </Text>
    </>
  )
}

/** Exact where all jobs were inspected; "about" where only the newest were. */
function shareInWords(count: number, { count: total, countIsExact, inspected }: Preview): string {
  if (countIsExact && inspected >= total) return number(count)
  return `about ${number(Math.round((count / inspected) * total))}`
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  const { colors } = useTheme()
  const isStacked = useIsLargeText()
  return (
    <View style={[styles.fact, isStacked && styles.stacked, { borderBottomColor: colors.line }]}>
      <Text variant="label" color="textMuted" style={!isStacked && styles.name}>
        {name}
      </Text>
      <View style={[styles.value, !isStacked && styles.beside]}>{children}</View>
    </View>
  )
}

const CONSEQUENCES: Readonly<Record<Action, string>> = {
  requeue: 'They run again from the start, with all their retries. You can stop this on the next page.',
  run_now:
    'They run as soon as a worker is free. Their retries stay as they are. You can stop this on the next page.',
  cancel: 'They will not run unless they are retried. You can stop this on the next page.',
  delete: 'They are permanently deleted, with their payloads and errors.',
}

/** For `onClose` during a call, which cannot be taken back: keeps the sheet open. */
export const stay = () => {}

export interface ConfirmButtonProps {
  readonly action: Action
  readonly count: number
  /** False: there are at least so many. */
  readonly isExact?: boolean
  readonly isDanger?: boolean
  readonly isBusy?: boolean
  readonly onConfirm: () => void
}

/** At the foot of a sheet that touches jobs: to be held where it is many of them, or production. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { action, count, isExact = true, isDanger = false, isBusy, onConfirm } = props
  const { data } = useHealth()
  const lock = useLock()
  const variant = isDanger ? 'danger' : 'primary'
  const label = phraseOf(action, `${isExact ? '' : 'at least '}${jobs(count)}`)
  if (lock !== null)
    return (
      <>
        <Text variant="label" color="textMuted" role="status">
          {lock}
        </Text>
        <Button label={label} lock={lock} onPress={onConfirm} wide />
      </>
    )
  // Without health data the environment is unknown: treat it as production.
  const isDelicate = count >= HOLD_FROM || !data || isProduction(data.environment)
  if (isDelicate && !isBusy)
    return (
      <HoldButton
        label={`Hold to ${label.charAt(0).toLowerCase()}${label.slice(1)}`}
        variant={variant}
        onConfirm={onConfirm}
      />
    )
  return <Button label={label} variant={variant} isBusy={isBusy ?? false} onPress={onConfirm} wide />
}

/** Why the operation did not start. If the response was lost, it says that pressing again is safe. */
function Refused({ problem, onLookAgain }: { readonly problem: unknown; readonly onLookAgain: () => void }) {
  const { colors } = useTheme()
  const mismatch = isOncueError(problem, 'COUNT_MISMATCH') ? problem.details : undefined
  const { title, text, icon } = describeProblem(problem)
  const { count, countIsExact, expectedCount } = mismatch ?? {}
  return (
    <View style={[styles.refused, { borderColor: colors.line }]}>
      {mismatch ? (
        <Banner
          tone="warn"
          icon="warn"
          text={`${capital(many(Number(count), countIsExact !== false))} match now, ${number(Number(expectedCount))} when you looked`}
          detail="Nothing was changed. Check again before you decide."
          action={<Button label="Check again" icon="refresh" onPress={onLookAgain} />}
        />
      ) : (
        <Banner tone="bad" icon={icon} text={title} detail={`${text} ${SAFE}`} />
      )}
    </View>
  )
}

const SAFE = 'If it did start, pressing again does not start it twice.'

function Loading() {
  return (
    <View role="progressbar" aria-label="Counting" style={styles.loading}>
      <Skeleton height={20} width="72%" />
      <Skeleton height={20} width="44%" />
      <Skeleton height={20} width="58%" />
    </View>
  )
}

/** Random enough to be unique; not a secret. */
export function newKey(): string {
  const part = () => Math.random().toString(36).slice(2, 12)
  return `app-${Date.now().toString(36)}-${part()}${part()}`
}

type Acted = Pick<Preview, 'count' | 'countIsExact'>

/** What will be touched: the server skips the others. Of many jobs only the newest were inspected. */
function actedOf(action: Action, { count, countIsExact, byStatus }: Preview): Acted {
  return { count: Math.max(0, count - leftAloneOf(action, byStatus)), countIsExact }
}

function titleOf(action: Action, found: Acted | undefined): string {
  const { verb } = VERBS[action]
  if (!found) return `${verb}…`
  if (found.count === 0) return `Nothing to ${verb.toLowerCase()}`
  const what = `${many(found.count, found.countIsExact)} ${found.count === 1 ? 'job' : 'jobs'}`
  return `${phraseOf(action, what)}?`
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const styles = StyleSheet.create({
  fact: {
    flexDirection: 'row',
    gap: space.m,
    paddingBottom: space.m,
    borderBottomWidth: StyleSheet.hairlineWidth,
  },
  name: { width: 84, paddingTop: 2 },
  stacked: { flexDirection: 'column', gap: 2 },
  value: { gap: 2 },
  beside: { flex: 1 },
  spread: { gap: space.s },
  refused: { borderRadius: radius.m, borderWidth: 1, overflow: 'hidden' },
  loading: { gap: space.m, paddingVertical: space.s },
})

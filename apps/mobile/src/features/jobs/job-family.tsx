import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { count, number, shortId } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { family } from './queries.ts'
import { Card, Section } from './section.tsx'
import { arranged, countsOf, stateOf, type Tree, type TreeJob, type Twig } from './tree.ts'
import { waitInWords } from './waits.ts'

/** The jobs that belong to this one: of its flow or batch, above it the one that spawned it, below those that it spawned. */
export function JobFamily({ id }: { readonly id: string }) {
  const { data } = useRead(family(id))
  if (!data || data.jobs.length < 2) return null
  return (
    <Section title="Family">
      <Card>
        <JobTree tree={data} />
      </Card>
    </Section>
  )
}

/** More are drawn when they are asked for. */
const SHOWN = 50

export function JobTree({ tree }: { readonly tree: Tree }) {
  const [shown, setShown] = useState(SHOWN)
  const twigs = arranged(tree)
  const hidden = twigs.length - shown
  return (
    <View style={styles.tree}>
      <Text variant="small" color="textMuted">
        {countsInWords(tree.jobs)}
      </Text>
      <View role="list">
        {twigs.slice(0, shown).map((twig) => (
          <Line key={twig.job.id} twig={twig} isThis={twig.job.id === tree.id} />
        ))}
      </View>
      {hidden > 0 && (
        <Button
          label={`Show ${number(Math.min(hidden, SHOWN))} more of ${count(hidden, 'job')}`}
          variant="quiet"
          onPress={() => setShown(shown + SHOWN)}
        />
      )}
      {!tree.isComplete && (
        <Text variant="small" color="textMuted">
          There are more jobs: the nearest 1,000 are here.
        </Text>
      )}
      {!tree.childrenAreComplete && (
        <Text variant="small" color="textMuted">
          There may be more children.
        </Text>
      )}
    </View>
  )
}

/** "5 jobs: 1 failed, 1 running, 3 completed" */
function countsInWords(jobs: readonly TreeJob[]): string {
  const parts = countsOf(jobs).map(([state, many]) => `${number(many)} ${STATES[state].word.toLowerCase()}`)
  return `${count(jobs.length, 'job')}: ${parts.join(', ')}`
}

/** Deeper ones stand at the same place: a phone is narrow. */
const MAX_DEPTH = 6

function Line({ twig: { job, depth, after }, isThis }: { readonly twig: Twig; readonly isThis: boolean }) {
  const { colors } = useTheme()
  const openJob = useOpen('jobId')
  const state = stateOf(job)
  const name = job.name === null ? job.topic : `${job.name} · ${job.topic}`
  const about = aboutOf(job, after)
  const words = (
    <View style={styles.words}>
      <View style={styles.line}>
        <Text variant="label" color={isThis ? 'text' : 'accent'} style={styles.name}>
          {`${name} · ${shortId(job.id)}${isThis ? ' (this job)' : ''}`}
        </Text>
        <StateWord state={state} />
      </View>
      {about !== null && (
        <Text variant="small" color={job.error ? 'bad' : 'textMuted'} numberOfLines={2}>
          {about}
        </Text>
      )}
    </View>
  )
  const indent = {
    marginLeft: Math.min(depth, MAX_DEPTH) * space.l,
    borderLeftWidth: depth > 0 ? 2 : 0,
    borderLeftColor: colors.line,
    paddingLeft: depth > 0 ? space.m : 0,
  }
  return (
    <View role="listitem" style={indent}>
      {isThis ? (
        <View style={styles.target}>{words}</View>
      ) : (
        <Pressable
          role="link"
          aria-label={`Job ${job.id}, ${name}, ${STATES[state].word.toLowerCase()}`}
          onPress={() => openJob(job.id)}
          style={styles.target}
        >
          {words}
        </Pressable>
      )}
    </View>
  )
}

/** Up to here the jobs that one waits for are named. */
const NAMED = 2

function aboutOf(job: TreeJob, after: readonly TreeJob[]): string | null {
  const { error, waits, isSuspended, ending, status } = job
  if (error) return `${error.class}: ${error.message}`
  if (isSuspended && waits) return waitInWords(waits, serverNow(), ending !== null)
  if (status !== 'blocked' || after.length === 0) return null
  const names = after.map(({ name, topic, id }) => name ?? `${topic} ${shortId(id)}`)
  return `Waits for ${after.length > NAMED ? count(after.length, 'job') : names.join(' and ')}`
}

const styles = StyleSheet.create({
  tree: { gap: space.s },
  target: { minHeight: 44, justifyContent: 'center', borderRadius: radius.s },
  words: { gap: 2, paddingVertical: space.xs },
  line: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', columnGap: space.s, rowGap: 2 },
  name: { flexShrink: 1, minWidth: 0 },
})

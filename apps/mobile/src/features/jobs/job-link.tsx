import type { Outputs } from '@oncue/sdk'
import { StyleSheet } from 'react-native'
import { Pressable } from '../../components/ui/pressable.tsx'
import { STATES } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { shortId } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { stateOf } from './tree.ts'

type Relative = Outputs['jobs']['family']['children'][number]

/** Another job, a tap away. */
export function JobLink({ job }: { readonly job: Relative }) {
  const { id, topic } = job
  const openJob = useOpen('jobId')
  return (
    <Pressable role="link" aria-label={`Job ${id}`} onPress={() => openJob(id)} style={styles.link}>
      <Text variant="label" color="accent">
        {topic} · {shortId(id)} · {STATES[stateOf(job)].word.toLowerCase()}
      </Text>
    </Pressable>
  )
}

const styles = StyleSheet.create({ link: { justifyContent: 'center', borderRadius: 6, minHeight: 32 } })

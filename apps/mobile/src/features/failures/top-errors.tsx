import { StyleSheet, View } from 'react-native'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { FailureRow } from './failure-row.tsx'
import { errorOf, topErrors } from './queries.ts'

/** The largest errors of one queue or of all, each one tap away. Renders nothing when nothing fails. */
export function TopErrors({ queue }: { readonly queue: string | null }) {
  const { data = [] } = useRead(topErrors(queue))
  const open = useOpen('fingerprint')
  if (data.length === 0) return null
  return (
    <View>
      <View style={styles.heading}>
        <Text variant="heading" level={2}>
          Errors
        </Text>
      </View>
      {data.map((group) => (
        <FailureRow
          key={group.fingerprint}
          group={{ ...group, ...errorOf(group) }}
          onPress={() => open(group.fingerprint)}
        />
      ))}
    </View>
  )
}

const styles = StyleSheet.create({
  heading: { paddingHorizontal: space.l, paddingBottom: space.s },
})

import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Mark } from '../../components/ui/mark.tsx'
import { Text } from '../../components/ui/text.tsx'
import { usePageTitle } from '../../lib/page-title.ts'
import { space } from '../../theme/tokens.ts'

/** The application in which Oncue is mounted signs people in. It decides again when the page is loaded. */
export function HostSignIn() {
  usePageTitle('Signed out')
  return (
    <View style={styles.middle} role="main">
      <Mark size={44} />
      <Text variant="display" level={1}>
        You are signed out
      </Text>
      <Text color="textMuted">
        Sign in to the application that Oncue is part of, and load this page again.
      </Text>
      <Button variant="primary" label="Load this page again" onPress={() => globalThis.location.reload()} />
    </View>
  )
}

const styles = StyleSheet.create({
  middle: { flex: 1, justifyContent: 'center', alignItems: 'center', gap: space.l, padding: space.xl },
})

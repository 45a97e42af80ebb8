import { useLocalSearchParams, useRouter } from 'expo-router'
import { useState } from 'react'
import { ScrollView, StyleSheet, View } from 'react-native'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { Mark } from '../../components/ui/mark.tsx'
import { Text } from '../../components/ui/text.tsx'
import { HIDDEN_SERVER, hidesServer, isLoopback, toServerUrl } from '../../lib/address.ts'
import { DEVICE_NAME } from '../../lib/device-name.ts'
import { HOME_SERVER } from '../../lib/home-server.ts'
import { usePageTitle } from '../../lib/page-title.ts'
import { TROUBLES } from '../../lib/probe.ts'
import { useSession } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'

/**
 * `/pair?code=…`: the code can be used once, so it is sent only after confirmation. `/pair`: the code is typed, on a
 * phone with the address.
 */
export function PairScreen() {
  const { code: linked = '', url: given } = useLocalSearchParams<{ code?: string; url?: string }>()
  const [typedCode, setTypedCode] = useState('')
  const [address, setAddress] = useState('')
  const session = useSession()
  const router = useRouter()
  const [name, setName] = useState(DEVICE_NAME)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<{ readonly title: string; readonly text: string } | null>(null)
  usePageTitle('Pair this device')
  // The link is untrusted: requests go only to the address that is shown.
  const url = HOME_SERVER?.url ?? toServerUrl(given ?? address)
  const code = linked || typedCode.trim()

  async function pair() {
    if (url === undefined) return
    setBusy(true)
    setProblem(null)
    try {
      const probed = await session.pair(url, code, name.trim())
      if (probed.ok) return router.replace('/')
      const { title, remedy } = TROUBLES[probed.trouble]
      setProblem({ title, text: remedy })
    } catch (error) {
      setProblem(describeProblem(error))
    } finally {
      setBusy(false)
    }
  }

  const isHiding = url === undefined && hidesServer(given ?? '')
  const isTyped = linked === ''
  const isOwnDevice = !HOME_SERVER && url !== undefined && isLoopback(url)
  const missing = missingOf(isTyped, code, url)
  const refused = isHiding ? HIDDEN_SERVER : isOwnDevice ? LOOPBACK : missing
  return (
    <ScrollView contentContainerStyle={styles.middle} role="main">
      <View style={styles.form}>
        <Mark size={44} />
        <Text variant="display" level={1}>
          Pair this device
        </Text>
        <Text color="textMuted">
          {`It gets its own token at ${HOME_SERVER ? HOME_SERVER.name : 'this server'}, which can be revoked there at any time.`}
        </Text>
        {!HOME_SERVER && isTyped && given === undefined && (
          <Field
            label="Server"
            placeholder="oncue.example.com"
            value={address}
            onChangeText={setAddress}
            inputMode="url"
            autoComplete="url"
          />
        )}
        {isTyped && (
          <Field
            label="Pairing code"
            placeholder="ABC-DEF-GHJ"
            help="As it is shown under the QR code. Capitals and dashes do not matter."
            value={typedCode}
            onChangeText={setTypedCode}
            autoCapitalize="characters"
            autoComplete="one-time-code"
            isCode
            maxLength={100}
          />
        )}
        {!HOME_SERVER && url !== undefined && !isOwnDevice && (
          <View>
            <Text variant="title" selectable>
              {url}
            </Text>
            <Text variant="small" color="textMuted">
              Continue only if you recognise this address. A code can lead anywhere.
            </Text>
          </View>
        )}
        <Field label="Name of this device" value={name} onChangeText={setName} maxLength={100} />
        <Button
          wide
          variant="primary"
          label="Pair"
          isBusy={isBusy}
          needs={refused ?? (name.trim() === '' ? 'Enter a name for the device.' : null)}
          onPress={() => void pair()}
        />
        {isTyped && (
          <Button
            wide
            variant="quiet"
            label="Sign in with a token"
            onPress={() => router.replace('/sign-in')}
          />
        )}
        {isHiding && <Banner tone="bad" icon="bad" text={HIDDEN_SERVER} />}
        {isOwnDevice && <Banner tone="bad" icon="bad" text={LOOPBACK} />}
        {problem && <Banner tone="bad" icon="bad" text={problem.title} detail={problem.text} />}
      </View>
    </ScrollView>
  )
}

const LOOPBACK =
  'This address means this device itself. Use the server’s address in your network, such as http://192.168.1.20:4400.'

function missingOf(isTyped: boolean, code: string, url: string | undefined): string | null {
  if (!isTyped) return url === undefined ? 'The link is incomplete: scan the code again.' : null
  if (url === undefined) return 'Enter the address of the server.'
  return code === '' ? 'Enter the pairing code.' : null
}

const styles = StyleSheet.create({
  middle: { flexGrow: 1, justifyContent: 'center', alignItems: 'center', padding: space.xl },
  form: { width: '100%', maxWidth: 420, gap: space.l },
})

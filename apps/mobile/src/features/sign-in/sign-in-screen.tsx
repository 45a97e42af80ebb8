import { usePathname, useRouter } from 'expo-router'
import { useState } from 'react'
import { KeyboardAvoidingView, Platform, ScrollView, StyleSheet, View } from 'react-native'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Field } from '../../components/ui/field.tsx'
import { Mark } from '../../components/ui/mark.tsx'
import { Text } from '../../components/ui/text.tsx'
import { toServerUrl } from '../../lib/address.ts'
import { IS_MOUNTED } from '../../lib/base-path.ts'
import { HOME_SERVER } from '../../lib/home-server.ts'
import { usePageTitle } from '../../lib/page-title.ts'
import { type Probed, probe, TROUBLES } from '../../lib/probe.ts'
import { useSession } from '../../lib/session.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { HostSignIn } from './host-sign-in.tsx'
import { KnownServers } from './known-servers.tsx'
import { ScanButton } from './scan-button.tsx'

export function SignInScreen({ why }: { readonly why: string | null }) {
  return IS_MOUNTED ? <HostSignIn /> : <TokenSignIn why={why} />
}

/** The address (on a phone) and a token, or a code that carries both. */
function TokenSignIn({ why }: { readonly why: string | null }) {
  const session = useSession()
  const router = useRouter()
  const isOwnPage = usePathname() === '/sign-in'
  const { colors } = useTheme()
  const [address, setAddress] = useState('')
  const [token, setToken] = useState('')
  const [busy, setBusy] = useState<'test' | 'sign-in' | null>(null)
  const [result, setResult] = useState<Probed | null>(null)
  const [isAsked, setAsked] = useState(false)
  usePageTitle('Sign in')

  const url = HOME_SERVER?.url ?? toServerUrl(address)
  const isReady = url !== undefined && token.trim() !== ''

  async function run(what: 'test' | 'sign-in') {
    setAsked(true)
    if (!isReady || busy) return
    setBusy(what)
    setResult(null)
    const probed = what === 'test' ? await probe(url, token.trim()) : await session.signIn(url, token.trim())
    setBusy(null)
    setResult(probed)
    if (probed.ok && what === 'sign-in' && isOwnPage) router.replace('/')
  }

  return (
    <KeyboardAvoidingView style={styles.fill} behavior={Platform.OS === 'ios' ? 'padding' : 'height'}>
      <ScrollView
        style={styles.fill}
        contentContainerStyle={styles.middle}
        keyboardShouldPersistTaps="handled"
        role="main"
      >
        <View style={styles.form}>
          <View style={styles.head}>
            <Mark size={44} />
            <Text variant="display" level={1}>
              {HOME_SERVER ? 'Sign in to Oncue' : 'Connect to Oncue'}
            </Text>
            <Text color="textMuted">{why ?? (HOME_SERVER ? HOME_SERVER.name : 'Where is your server?')}</Text>
          </View>
          {!HOME_SERVER && <ScanButton />}
          <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
            {!HOME_SERVER && (
              <Field
                label="Server"
                placeholder="oncue.example.com"
                value={address}
                onChangeText={setAddress}
                inputMode="url"
                autoComplete="url"
                error={isAsked && url === undefined ? 'Enter an address, such as oncue.example.com' : null}
              />
            )}
            <Field
              label="Token"
              placeholder="oncue_…"
              value={token}
              onChangeText={setToken}
              onSubmitEditing={() => void run('sign-in')}
              autoComplete="current-password"
              secureTextEntry
              isCode
              error={isAsked && token.trim() === '' ? 'Enter the token' : null}
              help="Printed when the server starts for the first time. An admin can create more."
            />
            {result && <Result probed={result} />}
            <Button
              wide
              variant="primary"
              label="Sign in"
              isBusy={busy === 'sign-in'}
              onPress={() => void run('sign-in')}
            />
            <Button
              wide
              variant="quiet"
              label="Test the connection"
              isBusy={busy === 'test'}
              onPress={() => void run('test')}
            />
          </View>
          <Button
            wide
            variant="quiet"
            label="Enter a pairing code"
            icon="qr"
            onPress={() => router.replace('/pair')}
          />
          {!HOME_SERVER && <KnownServers />}
        </View>
      </ScrollView>
    </KeyboardAvoidingView>
  )
}

function Result({ probed }: { readonly probed: Probed }) {
  if (probed.ok)
    return (
      <Banner
        tone="good"
        icon="good"
        text="Connected"
        detail={`As ${probed.me.name}, ${probed.me.role ?? 'without a role'}.`}
      />
    )
  const { title, remedy } = TROUBLES[probed.trouble]
  return <Banner tone="bad" icon="bad" text={title} detail={`${remedy} ${probed.detail}`.trim()} />
}

const styles = StyleSheet.create({
  fill: { flex: 1 },
  middle: { flexGrow: 1, justifyContent: 'center', alignItems: 'center', padding: space.xl },
  form: { width: '100%', maxWidth: 420, gap: space.l },
  head: { gap: space.s, paddingBottom: space.s },
  card: { borderRadius: radius.l, borderWidth: 1, padding: space.xl, gap: space.l },
})

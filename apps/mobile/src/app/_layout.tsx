import { DarkTheme, DefaultTheme, Stack, ThemeProvider } from 'expo-router'
import { StatusBar } from 'expo-status-bar'
import { Gate } from '../components/shell/gate.tsx'
import { Providers } from '../components/shell/providers.tsx'
import { Shell } from '../components/shell/shell.tsx'
import { startServiceWorker } from '../lib/service-worker.ts'
import { useTheme } from '../theme/use-theme.ts'

startServiceWorker()

export default function RootLayout() {
  return (
    <Providers>
      <Screens />
    </Providers>
  )
}

function Screens() {
  const { isDark, colors } = useTheme()
  const base = isDark ? DarkTheme : DefaultTheme
  const theme = { ...base, colors: { ...base.colors, background: colors.surface, text: colors.text } }
  return (
    <ThemeProvider value={theme}>
      <StatusBar style={isDark ? 'light' : 'dark'} />
      <Shell>
        <Stack
          screenOptions={{ headerShown: false, contentStyle: { backgroundColor: colors.surface } }}
          // The tabs have the gate inside: around them, signing in would reset which tab was open.
          screenLayout={({ children, route }) =>
            route.name === '(tabs)' ? children : <Gate>{children}</Gate>
          }
        />
      </Shell>
    </ThemeProvider>
  )
}

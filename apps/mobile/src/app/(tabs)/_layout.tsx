import { TabList, TabSlot, Tabs, TabTrigger } from 'expo-router/ui'
import { StyleSheet, View } from 'react-native'
import { TABS } from '../../components/shell/destinations.ts'
import { Gate } from '../../components/shell/gate.tsx'

/** Keeps the four tabs mounted, so that each stays as it was left. The shell draws the tab bar. */
export default function TabsLayout() {
  return (
    <Tabs
      options={{
        // As in a browser: back leads to the previous screen, whichever tab it was in.
        backBehavior: 'fullHistory',
        // A slot would grow with its content; a screen that fills its place scrolls instead.
        screenLayout: ({ children }) => (
          <View style={StyleSheet.absoluteFill}>
            <Gate>{children}</Gate>
          </View>
        ),
      }}
    >
      <TabSlot />
      <TabList style={{ display: 'none' }}>
        {TABS.map(({ href, label }) => (
          <TabTrigger key={href} name={label} href={href} />
        ))}
      </TabList>
    </Tabs>
  )
}

import { TabList, TabSlot, Tabs, TabTrigger } from 'expo-router/ui'
import { StyleSheet, View } from 'react-native'
import { TABS } from '../../components/shell/destinations.ts'
import { Gate } from '../../components/shell/gate.tsx'

/** Keeps the four tabs as they were left. What is pressed to reach them is drawn by the shell. */
export default function TabsLayout() {
  return (
    <Tabs
      options={{
        // As browsers have it: back leads to where one was.
        backBehavior: 'fullHistory',
        // The slot grows with what is in it: what fills its place instead scrolls.
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

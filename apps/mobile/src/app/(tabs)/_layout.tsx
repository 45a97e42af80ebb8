import { TabList, TabSlot, Tabs, TabTrigger } from 'expo-router/ui'
import { TABS } from '../../components/shell/destinations.ts'
import { Gate } from '../../components/shell/gate.tsx'

/** Keeps the four tabs as they were left. What is pressed to reach them is drawn by the shell. */
export default function TabsLayout() {
  return (
    <Tabs
      options={{
        // As browsers have it: back leads to where one was.
        backBehavior: 'fullHistory',
        screenLayout: ({ children }) => <Gate>{children}</Gate>,
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

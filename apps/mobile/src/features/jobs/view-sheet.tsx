import { View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { usePreference } from '../../lib/preferences.ts'
import { COLUMNS, chosenColumns } from './columns.ts'

const DENSITIES = [
  { value: 'comfortable', label: 'Comfortable' },
  { value: 'compact', label: 'Compact' },
] as const

/** How the table of jobs looks on this device. */
export function ViewSheet({ onClose }: { readonly onClose: () => void }) {
  const [density, setDensity] = usePreference('density')
  const [chosen, setChosen] = usePreference('jobColumns')
  const shown = chosenColumns(chosen).map(({ id }) => id)
  return (
    <Sheet isOpen title="Table view" onClose={onClose}>
      <Segmented label="Density" options={DENSITIES} value={density} onChange={setDensity} />
      <Text variant="small" color="textMuted">
        Where there is no room for all columns, the last ones are left out.
      </Text>
      <View>
        {COLUMNS.map(({ id, label }) => (
          <Toggle
            key={id}
            label={label}
            isOn={shown.includes(id)}
            onChange={(isOn) => setChosen(isOn ? [...shown, id] : shown.filter((each) => each !== id))}
            needs={shown.length === 1 && shown.includes(id) ? 'A table needs one column.' : null}
          />
        ))}
      </View>
      <Button label="Reset columns" variant="quiet" onPress={() => setChosen(null)} />
    </Sheet>
  )
}

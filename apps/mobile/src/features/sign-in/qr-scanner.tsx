import { CameraView, useCameraPermissions } from 'expo-camera'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { radius } from '../../theme/tokens.ts'

export interface QrScannerProps {
  readonly isOpen: boolean
  /** What is wrong with the code that was read last. */
  readonly problem: string | null
  readonly onRead: (text: string) => void
  readonly onClose: () => void
}

export function QrScanner({ isOpen, problem, onRead, onClose }: QrScannerProps) {
  const [permission, ask] = useCameraPermissions()
  return (
    <Sheet isOpen={isOpen} title="Scan a pairing code" onClose={onClose}>
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
      {permission?.granted ? (
        <View style={styles.view}>
          <CameraView
            style={styles.camera}
            barcodeScannerSettings={{ barcodeTypes: ['qr'] }}
            onBarcodeScanned={({ data }) => onRead(data)}
          />
        </View>
      ) : (
        <>
          <Text color="textMuted">
            {permission?.canAskAgain === false
              ? "The camera is turned off for Oncue. Allow it in your phone's settings, or type the address and token."
              : 'Oncue uses the camera only to scan pairing codes.'}
          </Text>
          {permission?.canAskAgain !== false && (
            <Button wide variant="primary" label="Allow the camera" onPress={() => void ask()} />
          )}
        </>
      )}
    </Sheet>
  )
}

const styles = StyleSheet.create({
  view: { borderRadius: radius.l, overflow: 'hidden', aspectRatio: 1 },
  camera: { flex: 1 },
})

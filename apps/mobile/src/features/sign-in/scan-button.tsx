import { useRouter } from 'expo-router'
import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { readPairingLink } from './pairing-link.ts'
import { QrScanner } from './qr-scanner.tsx'

/** Reads the code that the API or `oncue-worker pair` shows. */
export function ScanButton() {
  const router = useRouter()
  const [isOpen, setOpen] = useState(false)
  const onRead = (text: string) => {
    const link = readPairingLink(text)
    if (!link) return
    setOpen(false)
    router.push({ pathname: '/pair', params: { ...link } })
  }
  return (
    <>
      <Button wide icon="qr" label="Scan a pairing code" onPress={() => setOpen(true)} />
      <QrScanner isOpen={isOpen} onRead={onRead} onClose={() => setOpen(false)} />
    </>
  )
}

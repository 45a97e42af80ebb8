import { useRouter } from 'expo-router'
import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { HIDDEN_SERVER } from '../../lib/address.ts'
import { isHidingLink, readPairingLink } from './pairing-link.ts'
import { QrScanner } from './qr-scanner.tsx'

/** Reads the code that the API or `oncue pair` shows. */
export function ScanButton() {
  const router = useRouter()
  const [isOpen, setOpen] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const open = () => {
    setProblem(null)
    setOpen(true)
  }
  const onRead = (text: string) => {
    const link = readPairingLink(text)
    // Unrelated codes are ignored; a code that hides its server is a trap.
    if (!link) return isHidingLink(text) ? setProblem(HIDDEN_SERVER) : undefined
    setOpen(false)
    router.push({ pathname: '/pair', params: { ...link } })
  }
  return (
    <>
      <Button wide icon="qr" label="Scan a pairing code" onPress={open} />
      <QrScanner isOpen={isOpen} problem={problem} onRead={onRead} onClose={() => setOpen(false)} />
    </>
  )
}

import './src/lib/runtime.ts'
import 'expo-router/entry'

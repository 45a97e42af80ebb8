// The published package has a bundle here, with only the parts of Prisma that it needs: see prisma/bundle-control.ts.
export { openControl } from '@oncue/db/control'

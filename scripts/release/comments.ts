import ts from 'typescript'

/**
 * Keeps the comments on the properties of zod schemas. The compiler writes the type of a schema out without them, so
 * an editor would show no explanation of an option where the package is installed.
 */
export function keepComments(program: ts.Program): ts.CustomTransformers {
  const checker = program.getTypeChecker()

  /** Walks a declared type beside the type that it was generated from. */
  const comment = (written: ts.TypeNode | undefined, type: ts.Type): void => {
    if (written === undefined) return
    if (ts.isTypeOperatorNode(written)) comment(written.type, type)
    else if (ts.isTypeLiteralNode(written)) for (const member of written.members) commentMember(member, type)
    else if (ts.isTypeReferenceNode(written)) commentParts(written.typeArguments, type)
    else if (ts.isTupleTypeNode(written)) commentParts(written.elements, type)
  }

  const commentParts = (written: readonly ts.TypeNode[] = [], type: ts.Type): void => {
    const parts = checker.getTypeArguments(type as ts.TypeReference)
    written.forEach((node, n) => {
      const part = parts[n]
      if (part) comment(node, part)
    })
  }

  const commentMember = (member: ts.TypeElement, type: ts.Type): void => {
    if (!ts.isPropertySignature(member) || !ts.isIdentifier(member.name)) return
    const property = type.getProperty(member.name.text)
    if (!property) return
    const text = ts.displayPartsToString(property.getDocumentationComment(checker))
    if (text !== '') {
      const lines = text.replaceAll('\n', '\n * ')
      ts.addSyntheticLeadingComment(member, ts.SyntaxKind.MultiLineCommentTrivia, `* ${lines} `, true)
    }
    comment(member.type, checker.getTypeOfSymbol(property))
  }

  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node))
      comment(node.type, checker.getTypeAtLocation(ts.getOriginalNode(node)))
    ts.forEachChild(node, visit)
  }

  return {
    afterDeclarations: [
      () => (file) => {
        visit(file)
        return file
      },
    ],
  }
}

/** Sets and removes tags. The value null removes a tag. */
export function mergeTags(
  tags: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const merged: Record<string, string> = { ...tags };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}

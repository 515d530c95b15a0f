/**
 * The keys of the tags that mark an orphaned VM. All clouds accept these keys. GCP uses the keys as label keys. No other tag
 * of the VM changes, so `list` still returns a marked VM.
 */
export const ORPHAN_TAGS = {
  /** The time after which mcm deletes the VM, such as `2026-01-31t12-00-00z`. */
  deleteAfter: 'mcm-orphan-delete-after',
  /** The reason why the VM is in quarantine. */
  quarantined: 'mcm-orphan-quarantined',
} as const;

/** The changes of tags: a tag with the value null is removed. */
export type TagChanges = Readonly<Record<string, string | null>>;

/**
 * Returns the tags of a VM that a caller of `list` needs.
 * @param tags all tags of the VM
 * @param tagKeys the keys in the request, or undefined if the caller needs no tags
 */
export function listedTags(
  tags: unknown,
  tagKeys: readonly string[] | undefined,
): { readonly tags?: Readonly<Record<string, string>> } {
  if (tagKeys === undefined) return {};
  const known = typeof tags === 'object' && tags !== null ? Object.entries(tags) : [];
  const wanted = known.filter(
    (entry): entry is [string, string] => tagKeys.includes(entry[0]) && typeof entry[1] === 'string',
  );
  return { tags: Object.fromEntries(wanted) };
}

/**
 * Splits changes of tags into tags to set and keys to remove.
 * @param tags the present tags; without them, every change counts as necessary
 */
export function splitTagChanges(
  changes: TagChanges,
  tags?: Readonly<Record<string, string>>,
): { readonly set: Readonly<Record<string, string>>; readonly remove: readonly string[] } {
  const set: Record<string, string> = {};
  const remove: string[] = [];
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) {
      if (!tags || key in tags) remove.push(key);
    } else if (tags?.[key] !== value) set[key] = value;
  }
  return { set, remove };
}

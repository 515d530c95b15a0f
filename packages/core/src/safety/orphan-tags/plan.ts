import { ORPHAN_TAGS, type TagChanges } from '../../driver/contract/tags.ts';

const { deleteAfter, quarantined } = ORPHAN_TAGS;

/** The reason for a quarantine, which is the value of the tag. */
export type QuarantineCause = 'api-server-restored' | 'machines-lost' | 'already-in-quarantine';

/** The state of a VM that its tags show. */
export type TaggedState =
  | { readonly is: 'used' }
  | { readonly is: 'quarantined'; readonly because: QuarantineCause }
  | { readonly is: 'stopped'; readonly until: Date };

/** Returns a time as the value of a tag. Labels of GCP allow only lowercase letters, digits, `-` and `_`. */
export const tagTime = (time: Date): string =>
  time
    .toISOString()
    .replace(/\.\d+Z$/, 'z')
    .replaceAll(':', '-')
    .toLowerCase();

/**
 * Returns the changes of tags for a VM. mcm keeps the first reason of a quarantine, because later searches only know
 * that the VM is in quarantine.
 * @param tags the tags of the VM in the list of the cloud
 */
export function tagChanges(state: TaggedState, tags: Readonly<Record<string, string>> = {}): TagChanges {
  const wanted = wantedTags(state, tags);
  return Object.fromEntries(
    [deleteAfter, quarantined].flatMap((key) => {
      const value = wanted[key] ?? null;
      return value === (tags[key] ?? null) ? [] : [[key, value] as const];
    }),
  );
}

function wantedTags(state: TaggedState, tags: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (state.is === 'quarantined') return { [quarantined]: tags[quarantined] ?? state.because };
  return state.is === 'stopped' ? { [deleteAfter]: tagTime(state.until) } : {};
}

import type { Warnings } from './warnings.ts';

/** Warns a process that stands by when another version leads. @param version Of the leader, where it says so. */
export function compareVersions(
  own: { readonly name: string; readonly version: string },
  leader: string,
  version: string | undefined,
  warnings: Warnings,
): void {
  if (version === undefined || version === own.version) {
    warnings.clear('version', own.name);
    return;
  }
  warnings.raise(
    'version',
    own.name,
    `${leader} leads with version ${version}, this process stands by with ${own.version}: the next hand-over changes the version; finish the upgrade, or undo it`,
  );
}

import type { Warnings } from './warnings.ts';

/** Compares the version of this process with the version of the leader. */
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
    `the leader ${leader} has version ${version}, but this standby has version ${own.version}; complete or revert the upgrade`,
  );
}

import { withoutUndefined } from '@mcm/kube';
import { IgnitionError } from '../values/report.ts';
import type { FileV2, IgnitionV2, UnitV2, UserV2 } from './schema-v2.ts';

/**
 * Removes duplicate entries of a version 2 config, because version 3 does not allow duplicate entries.
 * - If several files or units have one path or name, the last one stays.
 *
 * The order of files and units is reversed, as in the original, because the order is part of the name of a rendered
 * config. Source: machine-config-operator, pkg/controller/common/helpers.go.
 * @throws IgnitionError for users other than core
 */
export function deduplicateV2(config: IgnitionV2): IgnitionV2 {
  const { storage, systemd, passwd } = config;
  const users = passwd?.users?.length ? [coreUser(passwd.users)] : undefined;
  return {
    ...config,
    ...withoutUndefined({
      storage: storage && { ...storage, ...withoutUndefined({ files: storage.files && lastFiles(storage.files) }) },
      systemd: systemd?.units && { units: lastUnits(systemd.units) },
      passwd: passwd && withoutUndefined({ groups: passwd.groups, users }),
    }),
  };
}

function lastFiles(files: readonly FileV2[]): FileV2[] {
  const byPath = new Map<string, FileV2>();
  for (const file of files.toReversed()) if (!byPath.has(file.path ?? '')) byPath.set(file.path ?? '', file);
  return [...byPath.values()];
}

function lastUnits(units: readonly UnitV2[]): UnitV2[] {
  const byName = new Map<string, UnitV2>();
  for (const unit of units.toReversed()) {
    const name = unit.name ?? '';
    const last = byName.get(name);
    byName.set(name, last === undefined ? unit : withDropins(last, unit.dropins ?? []));
  }
  return [...byName.values()];
}

function withDropins(unit: UnitV2, earlier: NonNullable<UnitV2['dropins']>): UnitV2 {
  const own = unit.dropins ?? [];
  const names = new Set(own.map(({ name }) => name));
  const dropins = [...own, ...earlier.filter(({ name }) => !names.has(name))];
  return dropins.length === 0 ? unit : { ...unit, dropins };
}

function coreUser(users: readonly UserV2[]): UserV2 {
  const stranger = users.toReversed().find(({ name }) => name !== 'core');
  if (stranger) {
    throw new IgnitionError(`unexpected user with name: ${stranger.name ?? ''}. Only core user is supported`);
  }
  const reversed = users.toReversed();
  const keys = new Set(reversed.flatMap(({ sshAuthorizedKeys = [] }) => sshAuthorizedKeys));
  return { ...reversed[0], ...withoutUndefined({ sshAuthorizedKeys: keys.size > 0 ? [...keys] : undefined }) };
}

import { withoutUndefined } from '@mcm/kube';
import { joinPaths } from '../values/paths.ts';
import { IgnitionError } from '../values/report.ts';
import { IGNITION_VERSION, type IgnitionConfig } from './schema.ts';
import type { FileV2, IgnitionV2, UnitV2 } from './schema-v2.ts';

type Storage = NonNullable<IgnitionV2['storage']>;
type NodeV2 = Pick<FileV2, 'filesystem' | 'path' | 'overwrite' | 'user' | 'group'>;

const PREFIX =
  'failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: ' as const;

const refuse = (message: string): never => {
  throw new IgnitionError(PREFIX + message);
};

const some = <T>(value: T | undefined): T | undefined => (value ? value : undefined);
const filled = <T>(list: readonly T[] | undefined): T[] | undefined => (list?.length ? [...list] : undefined);
const section = <T extends object>(fields: T) => {
  const rest = withoutUndefined(fields);
  return Object.keys(rest).length > 0 ? rest : undefined;
};

/**
 * Converts a config of version 2.2 without duplicates to version 3.5. Source: coreos/ign-converter,
 * translate/v23tov30.
 * @throws IgnitionError for fields that version 3 does not have
 */
export function translateV2({ ignition, networkd, passwd, storage = {}, systemd }: IgnitionV2): IgnitionConfig {
  if (networkd?.units?.length) refuse('config includes deprecated networkd section - use Files instead');
  const filesystem = storage.filesystems?.find(({ name }) => name !== 'root');
  if (filesystem) {
    refuse(
      `Config defined filesystem ${JSON.stringify(filesystem.name ?? '')} but no mapping was defined.` +
        'Please specify a path to be used as the filesystem mountpoint.',
    );
  }
  checkPartitions(storage);
  checkNodes(storage);
  const users = passwd?.users?.map(({ create: _create, name = '', ...user }) => ({ ...withoutUndefined(user), name }));
  const groups = passwd?.groups?.map(({ name = '', gid, passwordHash, system }) =>
    withoutUndefined({ name, gid, passwordHash: some(passwordHash), system: some(system) }),
  );
  return withoutUndefined({
    ignition: withoutUndefined({
      config: section({
        merge: filled(ignition.config?.append),
        replace: ignition.config?.replace,
      }),
      security: ignition.security,
      timeouts: ignition.timeouts,
      version: IGNITION_VERSION,
    }),
    passwd: section({ groups: filled(groups), users: filled(users) }),
    storage: section({
      directories: filled(
        storage.directories?.map(({ mode, ...node }) => withoutUndefined({ ...translateNode(node), mode })),
      ),
      disks: filled(storage.disks?.map(translateDisk)),
      files: filled(storage.files?.map(translateFile)),
      links: filled(
        storage.links?.map(({ hard, target, ...node }) =>
          withoutUndefined({ ...translateNode(node), hard: some(hard), target: target ?? '' }),
        ),
      ),
      raid: filled(
        storage.raid?.map(({ name = '', spares, ...raid }) =>
          withoutUndefined({ ...withoutUndefined(raid), name, spares: some(spares) }),
        ),
      ),
    }),
    systemd: section({ units: filled(systemd?.units?.map(translateUnit)) }),
  }) as IgnitionConfig;
}

/**
 * Refuses partitions with a position or a size, because version 2 counts sectors and version 3 counts MiB. The size of
 * a sector is unknown, so mcm cannot convert partitions from sectors to MiB.
 */
function checkPartitions({ disks = [] }: Storage): void {
  const partitions = disks.flatMap((disk) => disk.partitions ?? []);
  const used = [
    ...(partitions.some(({ size }) => size) ? ['deprecated: size is deprecated; use sizeMB instead'] : []),
    ...(partitions.some(({ start }) => start) ? ['deprecated: start is deprecated; use startMB instead'] : []),
  ];
  if (used.length > 0) refuse(`Invalid input config:\n${used.join('\n')}`);
}

/** Checks that paths are unique over all lists, and that no path leads through a link of the config. */
function checkNodes({ files = [], directories = [], links = [] }: Storage): void {
  const linkPaths = links.map(pathOf);
  const seen = new Map<string, string>();
  const check = (kind: string, node: NodeV2) => {
    const path = pathOf(node);
    const name = `${kind}: ${path}`;
    const old = seen.get(path);
    if (old !== undefined) {
      refuse(
        `Config has conflicting inodes: ${JSON.stringify(old)} and ${JSON.stringify(name)}.  ` +
          'All files, directories and links must specify a unique `path`.',
      );
    }
    const link = linkPaths.find((candidate) => path.startsWith(candidate) && path !== candidate);
    if (link !== undefined) {
      refuse(
        `${name} uses link defined in config ${JSON.stringify(link)}. Please use a link not defined in Storage:Links`,
      );
    }
    seen.set(path, name);
  };
  for (const file of files) check('File', file);
  for (const directory of directories) check('Directory', directory);
  for (const link of links) check('Link', link);
}

const pathOf = ({ path = '' }: NodeV2): string => joinPaths('/', path);

const translateOwner = (owner: FileV2['user']) => owner && section({ id: owner.id, name: some(owner.name) });

const translateNode = (node: NodeV2) => ({
  ...withoutUndefined({
    group: translateOwner(node.group),
    overwrite: node.overwrite,
    user: translateOwner(node.user),
  }),
  path: pathOf(node),
});

/**
 * Converts a file of version 2. The converted file replaces an existing file, or appends content to the existing file.
 */
function translateFile({ append = false, contents, mode, ...node }: FileV2) {
  const { compression, source = '', verification } = contents ?? {};
  const content = withoutUndefined({ compression: some(compression), source, verification });
  const overwrite = append ? false : (node.overwrite ?? true);
  return withoutUndefined({
    ...translateNode({ ...node, overwrite }),
    ...(append ? { append: [content] } : { contents: content }),
    mode,
  });
}

function translateUnit({ name = '', contents, dropins, enable, enabled, mask }: UnitV2) {
  return withoutUndefined({
    contents: some(contents),
    dropins: filled(
      dropins?.map((dropin) => withoutUndefined({ contents: some(dropin.contents), name: dropin.name ?? '' })),
    ),
    enabled: enabled === false ? false : some(enabled || enable),
    mask: some(mask),
    name,
  });
}

function translateDisk({ device = '', partitions, wipeTable }: NonNullable<Storage['disks']>[number]) {
  const translated = partitions?.map(({ guid, label, number, typeGuid }) =>
    withoutUndefined({ guid: some(guid), label: some(label), number: some(number), typeGuid: some(typeGuid) }),
  );
  return withoutUndefined({ device, partitions: filled(translated), wipeTable: some(wipeTable) });
}

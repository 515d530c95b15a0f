import { IgnitionError } from '../values/report.ts';
import type { IgnitionConfig, IgnitionFile } from './schema.ts';

const refuse = (what: string): never => {
  throw new IgnitionError(`${what} not supported on 2.2`);
};

const ROOT = 'root';

/**
 * Converts a config of version 3 to version 2.2. Source: coreos/ign-converter, translate/v32tov22.
 * @throws IgnitionError for fields that version 2 does not have
 */
export function toV2(config: IgnitionConfig): object {
  check(config);
  const { ignition, passwd, storage = {}, systemd } = config;
  const { directories, disks, files, filesystems, links, raid } = storage;
  const place = placing(filesystems ?? []);
  return dropUndefined({
    ignition: {
      version: '2.2.0',
      config: ignition.config && { replace: ignition.config.replace, append: ignition.config.merge },
      security: ignition.security,
      timeouts: ignition.timeouts,
    },
    passwd,
    storage: {
      directories: directories?.map((directory) => place(directory)),
      disks: disks?.map((disk) => ({
        ...disk,
        partitions: disk.partitions?.map(({ label, number, typeGuid, guid }) => ({ label, number, typeGuid, guid })),
      })),
      files: files?.flatMap((file) => place(file)).flatMap(fileParts),
      filesystems: filesystems?.map(({ path, mountOptions: _mountOptions, ...mount }, index) => ({
        name: path ?? String(index + 1),
        mount,
      })),
      links: links?.map((link) => place(link)),
      raid,
    },
    systemd,
  }) as object;
}

function check({ ignition, storage = {} }: IgnitionConfig): void {
  const { config, security, proxy } = ignition;
  const references = {
    'Ignition.Config.Merge': config?.merge ?? [],
    'Ignition.Config.Replace': config?.replace ? [config.replace] : [],
    'Ignition.Security.TLS.CertificateAuthorities': security?.tls?.certificateAuthorities ?? [],
  };
  for (const [name, resources] of Object.entries(references)) {
    if (resources.some(({ compression }) => compression !== undefined)) refuse(`Compression in ${name} is`);
    if (resources.some(({ httpHeaders }) => httpHeaders?.length)) refuse(`HTTPHeaders in ${name} are`);
  }
  if (proxy?.httpProxy || proxy?.httpsProxy || proxy?.noProxy?.length) refuse('HTTP proxies in Ignition.Proxy are');
  if (storage.luks?.length) refuse('LUKS is');
  const partitions = (storage.disks ?? []).flatMap((disk) => disk.partitions ?? []);
  if (partitions.some(({ sizeMiB, startMiB }) => sizeMiB !== undefined || startMiB !== undefined)) {
    refuse('SizeMiB and StartMiB in Storage.Disks.Partitions is');
  }
  if (storage.filesystems?.some(({ mountOptions }) => mountOptions?.length)) {
    refuse('MountOptions in Storage.Filesystems is');
  }
  for (const { contents, append = [] } of storage.files ?? []) {
    if (contents?.httpHeaders?.length) refuse('HTTPHeaders in Storage.Files.Contents are');
    if (append.some(({ httpHeaders }) => httpHeaders?.length)) refuse('HTTPHeaders in Storage.Files.Append.* are');
  }
}

function placing(filesystems: readonly { path?: string }[]) {
  const mounts = filesystems.flatMap(({ path }) => path ?? []).toSorted((a, b) => b.length - a.length);
  return <T extends { path: string }>(node: T): T & { filesystem: string } => {
    const mount = mounts.find((path) => node.path === path || node.path.startsWith(`${path.replace(/\/$/, '')}/`));
    if (mount === undefined || mount === '/') return { ...node, filesystem: mount ?? ROOT };
    return { ...node, path: node.path.slice(mount.length) || '/', filesystem: mount };
  };
}

/** Version 2 allows only one content for each file, so each appended content becomes a separate entry. */
function fileParts({ append = [], contents, ...file }: IgnitionFile & { filesystem: string }): object[] {
  const overwrite = file.overwrite ?? false;
  const own = contents?.source !== undefined || append.length === 0;
  return [
    ...(own ? [{ ...file, overwrite, contents }] : []),
    ...append.map((part) => ({ ...file, overwrite: false, append: true, contents: part })),
  ];
}

function dropUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropUndefined);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value)
    .map(([name, field]) => [name, dropUndefined(field)] as const)
    .filter(
      ([, field]) => field !== undefined && !(typeof field === 'object' && Object.keys(field ?? {}).length === 0),
    );
  return Object.fromEntries(fields);
}

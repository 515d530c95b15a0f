import * as z from 'zod';
import { list, planOf } from '../plan/plan.ts';

// The schema of Ignition 3.5. The fields of the schema have the order of the original, so that mcm reports problems in
// the same order. Source: ignition, config/v3_5/types/schema.go, and its Key() methods.

const text = () => z.exactOptional(z.string());
const flag = () => z.exactOptional(z.boolean());
const integer = () => z.exactOptional(z.int());
const texts = (rule: { shared?: string; append?: true } = {}) =>
  list(z.string(), rule.append ? rule : { key: (entry) => entry, ...rule });

const verification = z.exactOptional(z.object({ hash: text() }));

const resource = z.object({
  compression: text(),
  httpHeaders: list(z.object({ name: z.string(), value: text() }), { key: ({ name }) => name }),
  source: text(),
  verification,
});

/** The source of the content of a file. */
export type IgnitionResource = z.infer<typeof resource>;

const resources = (rule: { append?: true } = {}) =>
  list(resource, rule.append ? rule : { key: ({ source = '' }) => source });

const owner = z.exactOptional(z.object({ id: integer(), name: text() }));

const node = { group: owner, overwrite: flag(), path: z.string(), user: owner };

const byPath = { key: ({ path }: { path: string }) => path, shared: 'node' };
const byName = { key: ({ name }: { name: string }) => name };
const byDevice = { key: ({ device }: { device: string }) => device };

const directory = z.object({ ...node, mode: integer() });
const file = z.object({
  ...node,
  append: resources({ append: true }),
  contents: z.exactOptional(resource),
  mode: integer(),
});
const link = z.object({ ...node, hard: flag(), target: text() });

/** A file. */
export type IgnitionFile = z.infer<typeof file>;

const partition = z.object({
  guid: text(),
  label: text(),
  number: integer(),
  resize: flag(),
  shouldExist: flag(),
  sizeMiB: integer(),
  startMiB: integer(),
  typeGuid: text(),
  wipePartitionEntry: flag(),
});

export type IgnitionPartition = z.infer<typeof partition>;

const partitionKey = ({ number = 0, label }: IgnitionPartition): string =>
  number !== 0 ? `number:${number}` : label !== undefined ? `label:${label}` : '';

const disk = z.object({ device: z.string(), partitions: list(partition, { key: partitionKey }), wipeTable: flag() });

export type IgnitionDisk = z.infer<typeof disk>;

const filesystem = z.object({
  device: z.string(),
  format: text(),
  label: text(),
  mountOptions: texts({ append: true }),
  options: texts({ append: true }),
  path: text(),
  uuid: text(),
  wipeFilesystem: flag(),
});

export type IgnitionFilesystem = z.infer<typeof filesystem>;

const tang = z.object({ advertisement: text(), thumbprint: text(), url: text() });

const clevis = z.object({
  custom: z.exactOptional(z.object({ config: text(), needsNetwork: flag(), pin: text() })),
  tang: list(tang, { key: ({ url = '' }) => url }),
  threshold: integer(),
  tpm2: flag(),
});

const luks = z.object({
  cex: z.exactOptional(z.object({ enabled: flag() })),
  clevis: z.exactOptional(clevis),
  device: text(),
  discard: flag(),
  keyFile: z.exactOptional(resource),
  label: text(),
  name: z.string(),
  openOptions: texts(),
  options: texts({ append: true }),
  uuid: text(),
  wipeVolume: flag(),
});

export type IgnitionLuks = z.infer<typeof luks>;

const raid = z.object({
  devices: texts(),
  level: text(),
  name: z.string(),
  options: texts({ append: true }),
  spares: integer(),
});

export type IgnitionRaid = z.infer<typeof raid>;

const dropin = z.object({ contents: text(), name: z.string() });
const unit = z.object({
  contents: text(),
  dropins: list(dropin, byName),
  enabled: flag(),
  mask: flag(),
  name: z.string(),
});

/** A systemd unit. */
export type IgnitionUnit = z.infer<typeof unit>;

const group = z.object({
  gid: integer(),
  name: z.string(),
  passwordHash: text(),
  shouldExist: flag(),
  system: flag(),
});

const user = z.object({
  gecos: text(),
  groups: texts(),
  homeDir: text(),
  name: z.string(),
  noCreateHome: flag(),
  noLogInit: flag(),
  noUserGroup: flag(),
  passwordHash: text(),
  primaryGroup: text(),
  sshAuthorizedKeys: texts(),
  shell: text(),
  shouldExist: flag(),
  system: flag(),
  uid: integer(),
});

/** A user. */
export type IgnitionUser = z.infer<typeof user>;

const ignition = z.object({
  config: z.exactOptional(z.object({ merge: resources(), replace: z.exactOptional(resource) })),
  proxy: z.exactOptional(z.object({ httpProxy: text(), httpsProxy: text(), noProxy: texts() })),
  security: z.exactOptional(z.object({ tls: z.exactOptional(z.object({ certificateAuthorities: resources() })) })),
  timeouts: z.exactOptional(z.object({ httpResponseHeaders: integer(), httpTotal: integer() })),
  version: z.string(),
});

/** An Ignition config of version 3.5.0. */
export const ignitionConfigSchema = z.object({
  ignition,
  kernelArguments: z.exactOptional(
    z.object({
      shouldExist: texts({ shared: 'kernelArgument' }),
      shouldNotExist: texts({ shared: 'kernelArgument' }),
    }),
  ),
  passwd: z.exactOptional(z.object({ groups: list(group, byName), users: list(user, byName) })),
  storage: z.exactOptional(
    z.object({
      directories: list(directory, byPath),
      disks: list(disk, byDevice),
      files: list(file, byPath),
      filesystems: list(filesystem, byDevice),
      links: list(link, byPath),
      luks: list(luks, byName),
      raid: list(raid, byName),
    }),
  ),
  systemd: z.exactOptional(z.object({ units: list(unit, byName) })),
});

/** An Ignition config of version 3.5.0. */
export type IgnitionConfig = z.infer<typeof ignitionConfigSchema>;

export const IGNITION_PLAN = planOf(ignitionConfigSchema);

/** The version to which mcm converts all configs. */
export const IGNITION_VERSION = '3.5.0';

/** Returns an empty config. */
export const emptyIgnition = (): IgnitionConfig => ({ ignition: { version: IGNITION_VERSION } });

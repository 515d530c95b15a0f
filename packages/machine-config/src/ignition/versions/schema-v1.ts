import * as z from 'zod';

// The schema for the part of Ignition 1 that its decoder checks. Source: coreos/ignition v0.35, config/v1/types.

const text = () => z.exactOptional(z.string());
const flag = () => z.exactOptional(z.boolean());
const integer = () => z.exactOptional(z.int());
const list = <T extends z.ZodType>(entry: T) => z.exactOptional(z.array(entry));
const object = <T extends z.ZodRawShape>(shape: T) => z.exactOptional(z.object(shape));
const texts = () => list(z.string());

const partition = z.object({
  label: text(),
  number: integer(),
  size: integer(),
  start: integer(),
  typeGuid: text(),
});

const filesystem = z.object({
  device: text(),
  format: text(),
  create: object({ force: flag(), options: texts() }),
  files: list(z.object({ path: text(), contents: text(), mode: integer(), uid: integer(), gid: integer() })),
});

const unit = z.object({
  contents: text(),
  dropins: list(z.object({ contents: text(), name: text() })),
  enable: flag(),
  mask: flag(),
  name: text(),
});

const user = z.object({
  name: text(),
  passwordHash: text(),
  sshAuthorizedKeys: texts(),
  create: object({
    gecos: text(),
    groups: texts(),
    homeDir: text(),
    noCreateHome: flag(),
    noLogInit: flag(),
    noUserGroup: flag(),
    primaryGroup: text(),
    shell: text(),
    system: flag(),
    uid: integer(),
  }),
});

export const ignitionV1Schema = z.object({
  ignitionVersion: integer(),
  networkd: object({ units: list(z.object({ contents: text(), name: text() })) }),
  passwd: object({
    groups: list(z.object({ gid: integer(), name: text(), passwordHash: text(), system: flag() })),
    users: list(user),
  }),
  storage: object({
    disks: list(z.object({ device: text(), partitions: list(partition), wipeTable: flag() })),
    filesystems: list(filesystem),
    raid: list(z.object({ devices: texts(), level: text(), name: text(), spares: integer() })),
  }),
  systemd: object({ units: list(unit) }),
});

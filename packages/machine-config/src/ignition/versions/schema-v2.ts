import * as z from 'zod';
import { planOf } from '../plan/plan.ts';

// The schema for the part of Ignition 2.2 that mcm reads. Source: coreos/ignition v0.35, config/v2_2/types/schema.go.

const text = () => z.exactOptional(z.string());
const flag = () => z.exactOptional(z.boolean());
const integer = () => z.exactOptional(z.int());
const list = <T extends z.ZodType>(entry: T) => z.exactOptional(z.array(entry));
const texts = () => list(z.string());

const verification = z.exactOptional(z.object({ hash: text() }));
const reference = z.object({ source: text(), verification });
const owner = z.exactOptional(z.object({ id: integer(), name: text() }));
const node = { filesystem: text(), path: text(), overwrite: flag(), user: owner, group: owner };

const file = z.object({
  ...node,
  append: flag(),
  contents: z.exactOptional(z.object({ compression: text(), source: text(), verification })),
  mode: integer(),
});

const mount = z.object({
  device: text(),
  format: text(),
  label: text(),
  uuid: text(),
  options: texts(),
  wipeFilesystem: flag(),
  create: z.exactOptional(z.object({ force: flag(), options: texts() })),
});

const dropin = z.object({ contents: text(), name: text() });

const unit = z.object({
  contents: text(),
  dropins: list(dropin),
  enable: flag(),
  enabled: flag(),
  mask: flag(),
  name: text(),
});

const user = z.object({
  create: z.exactOptional(
    z.object({
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
  ),
  gecos: text(),
  groups: texts(),
  homeDir: text(),
  name: text(),
  noCreateHome: flag(),
  noLogInit: flag(),
  noUserGroup: flag(),
  passwordHash: text(),
  primaryGroup: text(),
  sshAuthorizedKeys: texts(),
  shell: text(),
  system: flag(),
  uid: integer(),
});

/** An Ignition config of version 2.2. */
export const ignitionV2Schema = z.object({
  ignition: z.object({
    config: z.exactOptional(z.object({ append: list(reference), replace: z.exactOptional(reference) })),
    security: z.exactOptional(
      z.object({ tls: z.exactOptional(z.object({ certificateAuthorities: list(reference) })) }),
    ),
    timeouts: z.exactOptional(z.object({ httpResponseHeaders: integer(), httpTotal: integer() })),
    version: z.string(),
  }),
  networkd: z.exactOptional(
    z.object({ units: list(z.object({ contents: text(), dropins: list(dropin), name: text() })) }),
  ),
  passwd: z.exactOptional(
    z.object({
      groups: list(z.object({ gid: integer(), name: text(), passwordHash: text(), system: flag() })),
      users: list(user),
    }),
  ),
  storage: z.exactOptional(
    z.object({
      directories: list(z.object({ ...node, mode: integer() })),
      disks: list(
        z.object({
          device: text(),
          partitions: list(
            z.object({
              guid: text(),
              label: text(),
              number: integer(),
              size: integer(),
              start: integer(),
              typeGuid: text(),
            }),
          ),
          wipeTable: flag(),
        }),
      ),
      files: list(file),
      filesystems: list(z.object({ mount: z.exactOptional(mount), name: text(), path: text() })),
      links: list(z.object({ ...node, hard: flag(), target: text() })),
      raid: list(z.object({ devices: texts(), level: text(), name: text(), options: texts(), spares: integer() })),
    }),
  ),
  systemd: z.exactOptional(z.object({ units: list(unit) })),
});

/** An Ignition config of version 2.2. */
export type IgnitionV2 = z.infer<typeof ignitionV2Schema>;
export type FileV2 = z.infer<typeof file>;
export type UnitV2 = z.infer<typeof unit>;
export type UserV2 = z.infer<typeof user>;

export const IGNITION_V2_PLAN = planOf(ignitionV2Schema);

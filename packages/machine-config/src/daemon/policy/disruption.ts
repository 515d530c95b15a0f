import * as z from 'zod';
import { CERTIFICATE_PATHS, TRUST_BUNDLE_PATH } from '../../config/certificate-paths.ts';
import { DaemonPaths, KUBELET_KUBECONFIG_PATHS } from '../../config/daemon-paths.ts';
import { type ConfigDiff, ignitionOrEmpty } from '../../config/diff.ts';
import { decodeContents } from '../../ignition/index.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import { isSafeRegistriesChange } from './registries.ts';

const service = z.strictObject({
  serviceName: z.string().regex(/^[\w@.:\\-]+\.\w+$/, 'must be a unit such as "crio.service"'),
});

const policyAction = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['None', 'Drain', 'DaemonReload', 'Reboot']) }),
  z.strictObject({ type: z.literal('Reload'), reload: service }),
  z.strictObject({ type: z.literal('Restart'), restart: service }),
]);

const alone = ['None', 'Reboot'];
const actions = z
  .array(policyAction)
  .min(1)
  .max(10)
  .refine((list) => list.length === 1 || !list.some(({ type }) => alone.includes(type)), {
    message: 'None and Reboot cannot be combined with other actions',
  });

/** The schema of a disruption policy, as in `spec.nodeDisruptionPolicy` of the MachineConfiguration of OpenShift. */
export const disruptionPolicySchema = z.strictObject({
  files: z
    .array(z.strictObject({ path: z.string().startsWith('/'), actions }))
    .max(50)
    .default([]),
  units: z
    .array(z.strictObject({ name: z.string().min(1), actions }))
    .max(50)
    .default([]),
  sshkey: z.strictObject({ actions }).optional(),
});

/** An action after an update. */
export type PostAction = z.infer<typeof policyAction> | { readonly type: 'Special' };

/** The actions after a change, for each file, each unit and the SSH keys. */
export interface DisruptionPolicy {
  readonly files: readonly { readonly path: string; readonly actions: readonly PostAction[] }[];
  readonly units: readonly { readonly name: string; readonly actions: readonly PostAction[] }[];
  readonly sshkey: readonly PostAction[];
}

const NONE: readonly PostAction[] = [{ type: 'None' }];
const REBOOT: readonly PostAction[] = [{ type: 'Reboot' }];
const CRIO = 'crio.service';
const RELOAD_CRIO: readonly PostAction[] = [{ type: 'Reload', reload: { serviceName: CRIO } }];
const restart = (serviceName: string): PostAction => ({ type: 'Restart', restart: { serviceName } });

export const RESTART_KUBELET: readonly PostAction[] = [restart('kubelet.service')];

/** The built-in disruption policy, as NodeDisruptionPolicy of the original. */
export const DEFAULT_POLICY: DisruptionPolicy = {
  files: [
    // The trust bundle has its own entry in the disruption policy.
    ...CERTIFICATE_PATHS.filter((path) => path !== TRUST_BUNDLE_PATH).map((path) => ({ path, actions: NONE })),
    { path: '/etc/machine-config-daemon/no-reboot/containers-gpg.pub', actions: RELOAD_CRIO },
    { path: '/etc/containers/policy.json', actions: RELOAD_CRIO },
    { path: '/etc/containers/registries.d', actions: RELOAD_CRIO },
    { path: '/etc/crio/policies', actions: RELOAD_CRIO },
    { path: DaemonPaths.Registries, actions: [{ type: 'Special' }] },
    { path: '/etc/nmstate/openshift', actions: NONE },
    {
      path: TRUST_BUNDLE_PATH,
      actions: [restart('coreos-update-ca-trust.service'), restart(CRIO)],
    },
    // A restart of the kubelet after the rotation of a CA affects no pod.
    ...KUBELET_KUBECONFIG_PATHS.map((path) => ({ path, actions: RESTART_KUBELET })),
    { path: '/etc/kubernetes/credential-providers', actions: RESTART_KUBELET },
    {
      path: '/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf',
      actions: [{ type: 'DaemonReload' }, ...RESTART_KUBELET],
    },
  ],
  units: [],
  sshkey: NONE,
};

/** Returns the services that a policy reloads or restarts. */
export function servicesOf({ files, units, sshkey }: DisruptionPolicy): readonly string[] {
  const all = [...[...files, ...units].flatMap((entry) => entry.actions), ...sshkey];
  return all.flatMap((action) => {
    if (action.type === 'Reload') return [action.reload.serviceName];
    return action.type === 'Restart' ? [action.restart.serviceName] : [];
  });
}

/** Merges policies: an entry of the user replaces the default entry with an equal path or name. */
export function withUserPolicy(user: z.infer<typeof disruptionPolicySchema>): DisruptionPolicy {
  const paths = new Set(user.files.map(({ path }) => path));
  return {
    files: [...DEFAULT_POLICY.files.filter(({ path }) => !paths.has(path)), ...user.files],
    units: user.units,
    sshkey: user.sshkey?.actions ?? DEFAULT_POLICY.sshkey,
  };
}

/** Returns the actions after a change: `[Reboot]`, `[None]`, or the actions in the order of the changes. */
export function postActions(diff: ConfigDiff, policy: DisruptionPolicy): readonly PostAction[] {
  if (diff.osImage || diff.kernelType || diff.extensions || diff.kernelArguments || diff.fips) return REBOOT;
  const found = [
    ...diff.files.map((path) => actionsOfPath(path, policy)),
    ...diff.units.map((name) => policy.units.find((unit) => unit.name === name)?.actions ?? REBOOT),
    ...(diff.passwd ? [policy.sshkey] : []),
  ].flat();
  if (found.length === 0) return NONE;
  if (found.some(({ type }) => type === 'Reboot')) return REBOOT;
  const some = found.filter(({ type }) => type !== 'None');
  return some.length === 0 ? NONE : some;
}

function actionsOfPath(path: string, { files }: DisruptionPolicy): readonly PostAction[] {
  const matching = files.filter((entry) => path === entry.path || path.startsWith(`${entry.path.replace(/\/$/, '')}/`));
  const [first, ...rest] = matching;
  if (!first) return REBOOT;
  return rest.reduce((longest, one) => (one.path.length > longest.path.length ? one : longest), first).actions;
}

/** Returns true if the actions need a drain. */
export const needsDrain = (list: readonly PostAction[], isSafe: () => boolean): boolean =>
  list.some(({ type }) => type === 'Drain' || type === 'Reboot' || (type === 'Special' && !isSafe()));

/** Replaces the action `Special` by a reload of the container runtime. */
export const carriedOut = (list: readonly PostAction[]): readonly PostAction[] =>
  list.flatMap((action) => (action.type === 'Special' ? RELOAD_CRIO : [action]));

/** Returns true if the change of registries.conf affects no running pod. */
export function isSafeRegistries(old: MachineConfig | undefined, wanted: MachineConfig | undefined): boolean {
  const text = (config: MachineConfig | undefined): string => {
    const file = ignitionOrEmpty(config).storage?.files?.find(({ path }) => path === DaemonPaths.Registries);
    return decodeContents(file?.contents?.source, file?.contents?.compression).toString('utf8');
  };
  return isSafeRegistriesChange(text(old), text(wanted));
}

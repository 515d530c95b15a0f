import { certificateFiles } from '../certificates/bundle.ts';
import { KUBELET_KUBECONFIG_PATHS } from '../config/daemon-paths.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { storedCertificates, storeNote, wantedCertificates } from './disk/certificate-record.ts';
import type { DaemonHost } from './disk/host.ts';
import { Originals } from './disk/originals.ts';
import { wantedDisk } from './disk/wanted.ts';
import { mismatch } from './drift.ts';
import { rotatedKubeconfigs } from './kubeconfigs.ts';
import {
  carriedOut,
  type DisruptionPolicy,
  type PostAction,
  postActions,
  RESTART_KUBELET,
} from './policy/disruption.ts';

/** Actions on services that do not disrupt a workload. */
const QUIET: ReadonlySet<PostAction['type']> = new Set(['Reload', 'Restart', 'DaemonReload']);

export interface CertificatesJob {
  readonly version: string;
  readonly config: MachineConfig;
  readonly stored: MachineConfig;
  readonly policy: DisruptionPolicy;
}

/**
 * Writes certificates, CA bundles and pull secrets, and restarts or reloads the services that use them. After a crash,
 * the daemon can repeat every step of the rotation of certificates.
 */
export async function bringCertificates(host: DaemonHost, job: CertificatesJob): Promise<void> {
  const { disk } = host;
  const { version, stored, policy } = job;
  const old = await storedCertificates(disk);
  const note = { version, files: certificateFiles(job.config) };
  const own = wantedDisk(stored).entries;
  const entries = wantedCertificates({ ...note, pending: [] });
  const gone = [...wantedCertificates(old).keys()].filter((path) => !entries.has(path));
  const wanted = [...entries, ...gone.flatMap((path) => [...own].filter(([one]) => one === path))];
  const changed: string[] = [];
  for (const [path, entry] of wanted) if ((await mismatch(disk, path, entry)) !== undefined) changed.push(path);
  const kubeconfigs = await rotatedKubeconfigs(disk, entries, own);
  const pending = [...new Set([...(old?.pending ?? []), ...changed, ...gone, ...kubeconfigs.map(({ path }) => path)])];
  await storeNote(disk, { ...note, pending });
  // The daemon writes kubeconfigs before the CA, because the old CA on the disk shows which kubeconfigs are outdated.
  for (const { path, entry } of kubeconfigs) if (entry) await disk.put(path, entry);
  for (const [path, entry] of wanted) if (changed.includes(path)) await disk.put(path, entry);
  const originals = new Originals(disk);
  for (const path of gone) if (!own.has(path)) await originals.restore(path);
  for (const action of actionsFor(pending, policy)) await host.act(action);
  if (pending.length > 0) await storeNote(disk, { ...note, pending: [] });
}

function actionsFor(files: readonly string[], policy: DisruptionPolicy): readonly PostAction[] {
  const no = { units: [], passwd: false, osImage: false, kernelType: false, extensions: false };
  const diffs = files.map((path) => ({ ...no, files: [path], kernelArguments: false, fips: false }));
  const own = diffs.flatMap((diff) => carriedOut(postActions(diff, policy))).filter(({ type }) => QUIET.has(type));
  // A kubelet with an old certificate authority cannot connect to the API server, so the daemon always restarts it. The
  // disruption policy of the user applies only to rollouts.
  const actions = files.some((path) => KUBELET_KUBECONFIG_PATHS.includes(path)) ? [...own, ...RESTART_KUBELET] : own;
  return [...new Map(actions.map((action) => [JSON.stringify(action), action])).values()];
}

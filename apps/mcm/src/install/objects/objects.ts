import { crds } from '@mcm/api';
import { daemonSet } from './config-daemon.ts';
import { dashboardObjects, dashboardTargetRoles } from './dashboard.ts';
import { fairness, fleetFairness, separateFairness } from './fairness.ts';
import { fleetObjects } from './fleet.ts';
import { configTargetRoles, machineConfigObjects } from './machine-config.ts';
import { metricsReader, monitoring } from './monitoring.ts';
import { policies } from './policies.ts';
import { controlRoles, separateAccount, targetRoles, webhookRoles } from './roles.ts';
import { type InstallSettings, separated } from './settings.ts';
import { webhookConfigurations } from './webhooks.ts';
import { budget, deployment, networkPolicy, separateWorkload, service } from './workload.ts';

/** A group of objects that are installed together. */
export interface InstallSection {
  /** The name of the section. In the chart, the value that enables the section has the same name. */
  readonly name: string;
  readonly objects: readonly object[];
  readonly cluster: 'control' | 'target';
  /** True for a section that the command prints only on request, because some clusters do not have its kinds. */
  readonly optional?: boolean;
}

/**
 * Returns the objects of a separate machine controller: its ServiceAccount, its share of the API server's capacity, and
 * its pods.
 */
const separateController = (settings: InstallSettings): readonly object[] => [
  ...separateAccount(settings),
  separateFairness(settings),
  ...separateWorkload(settings),
];

/** Returns all objects of an installation, in the order of their creation. */
export const installSections = (settings: InstallSettings): readonly InstallSection[] => [
  { name: 'crds', cluster: 'control', objects: crds },
  { name: 'fairness', cluster: 'control', objects: fairness(settings) },
  { name: 'rbac', cluster: 'control', objects: controlRoles(settings) },
  { name: 'target-rbac', cluster: 'target', objects: targetRoles(settings) },
  { name: 'webhooks', cluster: 'control', objects: [...webhookRoles(settings), ...webhookConfigurations(settings)] },
  {
    name: 'workload',
    cluster: 'control',
    objects: [service(settings), deployment(settings), budget(settings), metricsReader(settings)],
  },
  { name: 'network-policy', cluster: 'control', objects: [networkPolicy(settings)] },
  {
    name: 'separate-controller',
    cluster: 'control',
    objects: separateController(separated(settings)),
    optional: true,
  },
  {
    name: 'fleet',
    cluster: 'control',
    objects: [...fleetObjects(settings), fleetFairness(settings)],
    optional: true,
  },
  { name: 'machine-config', cluster: 'control', objects: machineConfigObjects(settings), optional: true },
  { name: 'machine-config-target', cluster: 'target', objects: configTargetRoles(settings), optional: true },
  { name: 'machine-config-daemon', cluster: 'target', objects: daemonSet(settings), optional: true },
  { name: 'dashboard', cluster: 'control', objects: dashboardObjects(settings), optional: true },
  { name: 'dashboard-target', cluster: 'target', objects: dashboardTargetRoles(settings), optional: true },
  { name: 'policies', cluster: 'control', objects: policies(settings), optional: true },
  { name: 'monitoring', cluster: 'control', objects: monitoring(settings), optional: true },
];

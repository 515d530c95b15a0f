import type { Machine, MachineDeployment } from '@mcm/api';
import { isComplete, splitSets } from '@mcm/core';
import { controllerOf } from '@mcm/kube';
import type { FullReading } from '../../cluster/deployment-reading.ts';
import { type DeploymentExplanation, explainDeployment, type Watched } from '../../explain/deployment/deployment.ts';
import { deploymentLines } from '../../explain/deployment/deployment-lines.ts';
import { unseen } from '../gaps.ts';
import type { Settings } from '../settings.ts';
import type { FleetSource, Snapshot } from '../snapshot.ts';
import { type Html, html } from './html.ts';
import type { Fleet } from './overview.ts';
import type { Section } from './page.ts';
import { badge, count, type Mood } from './words.ts';

/** The input of `explainDeployment`, from the watches. */
function readingOf(deployment: MachineDeployment, snapshot: Snapshot, source: FleetSource): FullReading & Watched {
  const { uid } = deployment.metadata;
  const sets = snapshot.sets.filter((set) => controllerOf(set)?.uid === uid);
  return {
    deployment,
    sets,
    machines: new Map(sets.map(({ metadata }) => [metadata.uid, source.machinesOf(metadata.uid)])),
    fleet: snapshot.machines,
    classes: snapshot.classes,
    guards: source.guards,
    ...(snapshot.nodeOf && { nodeOf: snapshot.nodeOf }),
    others: snapshot.deployments.filter(({ metadata }) => metadata.uid !== uid),
  };
}

/** Deployments with their rollouts, each with its explanation of `mcm explain`. */
export function deploymentsSection(snapshot: Snapshot, { source, settings }: Fleet, now: Date): Section {
  const { deployments, gaps } = snapshot;
  const rows = [...deployments]
    .sort((a, b) => a.metadata.name.localeCompare(b.metadata.name))
    .map((deployment) => row(readingOf(deployment, snapshot, source), settings(), now));
  const none = unseen(gaps, 'machinedeployments') ?? 'There are none in this namespace.';
  const body = html`<h2 id="deployments-heading">Deployments</h2>
${rows.length === 0 ? html`<p>${none}</p>` : table(rows)}`;
  return { id: 'deployments', body };
}

const table = (
  rows: readonly Html[],
): Html => html`<div class="wide" role="group" aria-labelledby="deployments-heading" tabindex="0"><table aria-labelledby="deployments-heading">
<thead><tr><th scope="col">Name</th><th scope="col">Rollout</th><th scope="col" class="number">Desired</th><th scope="col" class="number">Updated</th><th scope="col" class="number">Available</th><th scope="col" class="number">Old</th><th scope="col">Next step</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;

function row(reading: ReturnType<typeof readingOf>, { manager, ofMachines }: Settings, now: Date): Html {
  const { deployment, sets, machines } = reading;
  const { metadata, spec, status } = deployment;
  const explanation = explainDeployment(reading, now, undefined, manager, ofMachines);
  const { current } = splitSets(deployment, sets);
  const old = sets.filter((set) => set !== current).reduce((sum, set) => sum + ownedBy(machines, set.metadata.uid), 0);
  const replicas = spec.replicas ?? 0;
  const updated = status?.updatedReplicas ?? 0;
  const [mood, words] = rolloutOf(deployment, explanation.blockers.length > 0);
  return html`<tr data-key="${metadata.uid}"><th scope="row">${metadata.name}</th>
<td>${badge(mood, words)}<progress max="${Math.max(1, replicas)}" value="${Math.min(updated, replicas)}" aria-label="${`${updated} of ${replicas} machines of ${metadata.name} are updated`}"></progress></td>
<td class="number" data-of="desired">${replicas}</td><td class="number" data-of="updated">${updated}</td><td class="number" data-of="available">${status?.availableReplicas ?? 0}</td><td class="number" data-of="old">${old}</td>
<td>${explanation.next}${cures(explanation)}<details id="why-${metadata.uid}"><summary>Explain ${metadata.name}</summary><pre>${deploymentLines(explanation, now).join('\n')}</pre></details></td></tr>
`;
}

/** The hints are always visible, because a blocked rollout needs the action of a user. */
const cures = ({ cures: all }: Pick<DeploymentExplanation, 'cures'>): Html | undefined =>
  all.length === 0 ? undefined : html`<ul class="cures">${all.map((cure) => html`<li>${cure}</li>`)}</ul>`;

const ownedBy = (machines: ReadonlyMap<string, readonly Machine[]>, uid: string): number =>
  machines.get(uid)?.length ?? 0;

function rolloutOf(deployment: MachineDeployment, blocked: boolean): readonly [Mood, string] {
  if (deployment.metadata.deletionTimestamp !== undefined) return ['busy', 'Being deleted'];
  if (blocked) return ['bad', 'In trouble'];
  if (deployment.spec.paused === true) return ['idle', 'Paused'];
  return isComplete(deployment, deployment.status) ? ['good', 'Complete'] : ['busy', 'Under way'];
}

/** One sentence for the top of the page. */
export function deploymentsInWords({ deployments }: Snapshot): string {
  const busy = deployments.filter((deployment) => !isComplete(deployment, deployment.status)).length;
  return `${count(deployments.length, 'deployment')}, ${busy === 0 ? 'all complete' : `${busy} not complete`}`;
}

export interface Mutant {
  readonly topic: Topic;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly suites: readonly string[];
  readonly firstSeed?: number;
}

export const TOPICS = [
  ...['deletion', 'finalizers', 'orphans', 'idempotency', 'drain', 'budget', 'breaker', 'freeze', 'fence', 'names'],
  'pools',
  'capacity',
  'hooks',
  'zones',
  'drift',
  'updates',
  'plane',
  ...['canary', 'buffers', 'reports', 'marks', 'volumes'],
  ...['interruptions', 'windows', 'warm'],
  ...['rates', 'journal', 'groups'],
  'discovery',
] as const;
type Topic = (typeof TOPICS)[number];

const CORE = 'packages/core/src';
const M = ['machines'] as const;
const F = ['sick', 'rolls'] as const;
const CONFIG = 'packages/machine-config/src';
const P = ['join', 'pools'] as const;
const C = ['capacity'] as const;
const H = ['hooks'] as const;
const Z = ['zones'] as const;
const I = ['in-place'] as const;
const STORE = 'packages/control-plane/src/store';
const D = ['disks'] as const;
const OPT_IN = {
  canary: ['canary'],
  buffers: ['buffers'],
  reports: ['reports'],
  marks: ['scaler'],
  volumes: ['volumes'],
};

type Change = readonly [find: string, replace: string];

const of = (topic: Topic, file: string, suites: readonly string[], ...changes: readonly Change[]): readonly Mutant[] =>
  changes.map(([find, replace]) => ({ topic, file, find, replace, suites }));

const from = (firstSeed: number, mutants: readonly Mutant[]): readonly Mutant[] =>
  mutants.map((mutant) => ({ ...mutant, firstSeed }));

const discovery = (firstSeed: number, file: string, change: Change): readonly Mutant[] =>
  from(firstSeed, of('discovery', `packages/kube/src/fleet/discovery/${file}`, ['fleet-mode'], change));

/**
 * The list omits changes that have no effect in any history:
 * - Checks of a VM's node name.
 * - Checks that a second check repeats, for example the check of the Node before a VM is deleted.
 * - The phases in `isOrphan`.
 * - Texts and times of a status.
 * - In `rolling-update.ts`, a current set that grows by more than `maxUnavailable`.
 * - The start of a process that is not the leader.
 * - Renamed VMs, and Failed machines that get a VM until they are replaced.
 */
export const MUTANTS: readonly Mutant[] = [
  ...of(
    'deletion',
    `${CORE}/machine/deletion/deletion.ts`,
    M,
    ["if (last.outcome.ok || last.outcome.error.code === 'NotFound') return undefined;", 'if (last) return undefined;'],
    ["if (hasReached(machine.status, 'deleteNode')) return undefined;", 'if (machine) return undefined;'],
    [
      "return planDeleteHooks(o, now) ?? planKeeping(o, now) ?? act('the node is empty', { do: 'call', call: 'delete' });",
      'return undefined;',
    ],
  ),
  ...of('deletion', `${CORE}/machine/creation/never-created.ts`, M, [
    "if (machine.spec.providerID || calls.createSent || calls.running?.kind === 'create') return false;",
    'if (machine.spec.providerID) return false;',
  ]),
  ...of(
    'deletion',
    `${CORE}/machine/calls/perform.ts`,
    M,
    ['{ labels: { [Labels.Node]: nodeName } }', "{ labels: { [Labels.Node]: 'another' } }"],
    ["if (call === 'delete' && (await this.#nodes.findsMissed(scope))) return;", "if (call === 'delete') return;"],
  ),
  ...of(
    'finalizers',
    `${CORE}/machine/deletion/deletion.ts`,
    M,
    [
      "return act('the VM no longer exists', { do: 'releaseNode' });",
      "return act('the VM no longer exists', { do: 'removeFinalizer' });",
    ],
    [
      "return act('all resources of the machine are deleted', { do: 'removeFinalizer' });",
      "return wait('all resources of the machine are deleted');",
    ],
  ),
  ...of(
    'finalizers',
    `${CORE}/machine/calls/perform.ts`,
    M,
    ['.filter((name) => name !== Finalizers.MachineControllerManager)', ''],
    ['const others = (machine.metadata.finalizers ?? [])', "const others = [''].slice(1)"],
    ['await this.#options.tokens?.remove(machine);', 'undefined;'],
  ),
  ...of('finalizers', `${CORE}/machine/calls/node-actions.ts`, M, [
    'finalizers.filter((finalizer) => finalizer !== Finalizers.Node)',
    'finalizers.filter((finalizer) => finalizer)',
  ]),
  ...of('finalizers', `${CORE}/machine/next-step.ts`, M, [
    'if (machine.metadata.finalizers?.includes(Finalizers.MachineControllerManager)) return undefined;',
    'if (machine) return undefined;',
  ]),
  ...of(
    'orphans',
    `${CORE}/safety/orphans/orphan-vms.ts`,
    ['machines', 'rolls'],
    ['if (!machine) return true;', 'if (!machine) return false;'],
    ['owner !== undefined && owner !== own && !former.includes(owner);', 'true;'],
    ['const confirmed = suspects.filter((vm) => dueAt(vm) <= now);', 'const confirmed = suspects;'],
  ),
  ...of(
    'orphans',
    `${CORE}/safety/orphans/orphan-drains.ts`,
    M,
    ['if (plan.drained) return undefined;', 'return undefined;'],
    ['if (!node.spec.unschedulable || !cordonedAt) {', 'if (!cordonedAt && !node) {'],
    [
      'await evictPods(this.#nodes.client, plan.evict, scope);',
      'await deletePods(this.#nodes.client, plan.evict, scope);',
    ],
  ),
  ...of(
    'idempotency',
    'providers/local/src/driver/driver.ts',
    M,
    ['    clientToken: uid,', '    clientToken: crypto.randomUUID(),'],
    [
      'const named = await cloud.list({ name: machine.metadata.name }, signal);',
      'const named = (await cloud.list({ name: machine.metadata.name }, signal)).slice(0, 0);',
    ],
  ),
  ...of('idempotency', `${CORE}/machine/creation/creation.ts`, M, [
    "return act('the VM exists', { do: 'record', instance: created });",
    "return wait('the VM exists');",
  ]),
  ...of('idempotency', `${CORE}/machine/calls/perform.ts`, M, ['spec: { providerID: providerId } }', 'spec: {} }']),
  ...of(
    'deletion',
    `${CORE}/set/replicas/machine-writer.ts`,
    ['sick'],
    ['const preconditions = { uid, resourceVersion: pending.versionOf(uid) };', 'const preconditions = { uid };'],
  ),
  ...of(
    'drain',
    `${CORE}/drain/drain.ts`,
    M,
    ["const going = o.pods.filter((pod) => verdictOf(pod).pod !== 'stay');", 'const going = o.pods.slice(0, 0);'],
    ['const overdue = now >= o.forceAt;', 'const overdue = true;'],
    [
      'const volumes = going.length === 0 ? waitForVolumes(o, now) :',
      'const volumes = going.length === 0 ? NO_VOLUMES :',
    ],
    [
      'if (overdue) return planRemoval(o, pod, now);\n  const attempt',
      'return planRemoval(o, pod, now);\n  const attempt',
    ],
    [
      "if (now < limit) return { pod, verb: 'wait', until: limit };",
      "if (now < limit) return { pod, verb: 'remove' };",
    ],
    [
      'if (needsVolumes(o, pod)) return wait(pod, undefined);',
      'if (!needsVolumes(o, pod)) return wait(pod, undefined);',
    ],
  ),
  ...of(
    'drain',
    `${CORE}/machine/deletion/deletion.ts`,
    M,
    [
      "if (!o.hasTarget || !o.node || !o.drain || hasReached(o.machine.status, 'deleteVolumeAttachments')) return undefined;",
      'if (o) return undefined;',
    ],
    ['if (!skip && !isWithoutRules(o.drain) && (!o.node.spec.unschedulable || !terminating)) {', 'if (!o) {'],
  ),
  ...of('drain', `${CORE}/machine/model/pod-actions.ts`, M, ['if (plan.evict.length > 0) {', 'if (!o) {']),
  ...of('drain', `${CORE}/settings/conditions.ts`, M, [
    'millis(found.lastTransitionTime) + ms : undefined;',
    'millis(found.lastTransitionTime) + ms / 2 : undefined;',
  ]),
  ...of(
    'budget',
    `${CORE}/disruption/budget.ts`,
    F,
    ['if (taken < allowance) return allowance - taken;', 'if (taken < 100) return 100;'],
    ['return underWay > allowance && repairing === 0 ? 1 : 0;', 'return 1;'],
    ['Math.max(available - Math.max(replicas - unavailable, 0), 0);', 'available;'],
    ['const taken = Math.max(underWay, repairing);', 'const taken = 0;'],
  ),
  ...of(
    'budget',
    `${CORE}/disruption/repairs.ts`,
    ['sick', 'rolls'],
    ['if (budget.rolling) return due.slice(0, room);', 'if (budget.rolling) return due;'],
    [
      'due.filter((machine) => !neverJoined(machine)).slice(0, room);',
      'due.filter((machine) => !neverJoined(machine));',
    ],
  ),
  ...from(
    1_900_005,
    of(
      'budget',
      `${CORE}/set/replicas/outdated-size.ts`,
      ['budgets'],
      [
        'if (total >= least && setsWithMachines < 2 && !hasReportedSize(set)) return undefined;',
        'if (total >= least) return undefined;',
      ],
    ),
  ),
  ...of('budget', `${CORE}/deployment/rollout/rolling-update.ts`, F, [
    'unavailable: Math.min(target.unavailable, growth) }',
    'unavailable: target.replicas }',
  ]),
  ...of(
    'breaker',
    `${CORE}/disruption/unreachable.ts`,
    ['rolls', 'machines'],
    [
      'const open = unreachable >= limits.minimumCount && unreachable * 100 >= joined * limits.thresholdPercent;',
      'const open = true;',
    ],
  ),
  ...of(
    'breaker',
    `${CORE}/machine/health/health.ts`,
    ['sick', 'machines'],
    ['if (o.replacementsInProgress >= (o.replacementsAllowed ?? 1)) {', 'if (!o) {'],
    ['if (o.doubt) {', 'if (!o) {'],
    ['return runs ? sick(o, base, now) : undefined;', 'return undefined;'],
  ),
  ...of(
    'freeze',
    `${CORE}/safety/overshoot/overshoot-rules.ts`,
    F,
    ["if (machines >= limits.upper && !complete) return 'freeze';", "if (machines >= 1) return 'freeze';"],
    ["return marked && machines <= limits.lower ? 'thaw' : 'leave';", "return 'leave';"],
  ),
  ...of('freeze', `${CORE}/set/replicas/replicas.ts`, F, [
    'if (isFrozen(set)) return nothing(',
    'if (!isFrozen(set)) return nothing(',
  ]),
  ...of(
    'fence',
    'packages/kube/src/election/candidate.ts',
    ['leases'],
    ['    while (!this.#isFresh()) {\n', '    while (!this.#renewed) {\n'],
    ['sent.ms < deadlineMs);', 'sent.ms < 4.5 * deadlineMs);'],
    [
      "if (record !== undefined && record.holder !== '' && !mine && this.#validForMs(record) > 0) {",
      'if (!record && !mine && record) {',
    ],
  ),
  ...of('fence', 'packages/kube/src/election/run-elected.ts', ['leases'], ['      term.abort(reason);', '']),
  ...of(
    'fence',
    'packages/kube/src/election/fenced-client.ts',
    ['leases'],
    ['      await fence.held();', ''],
    ['return this.#real.patch(name, patch, {', 'return this.#real.patch(name, patch, options ?? {'],
  ),
  ...of('fence', `${CORE}/driver/invoker/stages/fence.ts`, ['leases'], ['await fence?.confirm();', '']),
  ...of(
    'names',
    `${CORE}/objects/machine-names.ts`,
    F,
    ['Math.max(most, number + 1)', 'Math.max(most, number)'],
    ['for (let number = machineNumbersOf(set).next; names.length', 'for (let number = FIRST_NUMBER; names.length'],
  ),
  ...of('pools', `${CONFIG}/pool/rollout/candidates.ts`, P, [
    'const unavailable = nodes.filter(isUnavailable).length;',
    'const unavailable = 0;',
  ]),
  ...of('pools', `${CONFIG}/pool/plan.ts`, P, ['...stranded.filter((node) => !deferredStranded.has(node)),', '']),
  ...from(
    5,
    of('pools', `${CONFIG}/pool/plan.ts`, P, [
      'const room = breaker.halted || windows.closed ? 0 : canaries.room;',
      'const room = windows.closed ? 0 : canaries.room;',
    ]),
  ),
  ...of(
    'pools',
    `${CONFIG}/machines/replace.ts`,
    P,
    ['return nodes.some(isUnmarked) ? {} : { [ConfigAnnotations.AwaitedByPool]: pool };', 'return {};'],
    ['const due = !paused && !closed && other && !keepsMachines(deployment);', 'const due = false;'],
    [
      'const pause = isReferred && still.replaces ? undefined : pauseOf(pool, false, deployment);',
      'const pause = undefined;',
    ],
  ),
  ...from(
    900_018,
    of('pools', `${CONFIG}/machines/replace.ts`, P, [
      'isTargeted(node, pool) && annotationOf(node, NodeAnnotations.State) === DaemonStates.Unreconcilable;',
      'isTargeted(node, pool) && false;',
    ]),
  ),
  ...of('pools', `${CONFIG}/machines/companion.ts`, P, [
    'if (isDone(node) && !hasApplied(machine))',
    'if (!hasApplied(machine))',
  ]),
  ...of('pools', `${CORE}/deployment/state/view.ts`, P, [' - unproven(set).filter(isStaying).length', '']),
  ...from(900_014, of('pools', `${CORE}/set/replicas/deletion-order.ts`, P, ['    first(isUnconfigured),\n', ''])),
  ...of('pools', `${CONFIG}/daemon/decide.ts`, P, [
    "const { annotations, askedAt, now, nodeName } = view;\n  const asked = annotations[DesiredDrain] ?? '';",
    "const { annotations, askedAt, now, nodeName } = view;\n  const asked = '';",
  ]),
  ...of('capacity', `${CORE}/machine/creation/offering.ts`, C, [
    '  return !o.calls.createSent && (record === undefined || o.inherited === false);',
    '  return true;',
  ]),
  ...of('capacity', `${CORE}/driver/invoker/stages/decode.ts`, C, [
    'const alternative = call.alternative ?? (machine && recordedAlternative(machine));',
    'const alternative = call.alternative;',
  ]),
  ...of(
    'capacity',
    `${CORE}/machine/calls/capacity.ts`,
    C,
    [
      'return { error, retryAt: this.#instant(retryAt), free: busy < allowed };',
      'return { error, retryAt: this.#instant(retryAt), free: busy >= 0 || allowed > 0 };',
    ],
    [
      '    entry.retryAt = this.#options.clock.monotonic() + ms + jitter;',
      '    entry.retryAt = this.#options.clock.monotonic() + jitter + ms / 100;',
    ],
  ),
  ...of('hooks', `${CORE}/hooks/pending.ts`, H, ["hook.afterTimeout === 'Continue' && until <= now;", 'until <= now;']),
  ...of('hooks', `${CORE}/hooks/pending.ts`, H, [
    'until: new Date(since.getTime() + hook.timeoutMs)',
    'until: new Date(since.getTime() + hook.timeoutMs / 4)',
  ]),
  ...of('hooks', `${CORE}/machine/deletion/deletion.ts`, H, [
    "return planDeleteHooks(o, now) ?? planKeeping(o, now) ?? act('the node is empty', { do: 'call', call: 'delete' });",
    "return planKeeping(o, now) ?? act('the node is empty', { do: 'call', call: 'delete' });",
  ]),
  ...of('hooks', `${CORE}/machine/deletion/deletion.ts`, H, ['    planDrainHooks(o, now) ??\n', '']),
  ...of('hooks', `${CORE}/machine/hooks/hooks.ts`, H, [
    "!ignores(o) && stageState(o.machine, o.machineClass, 'after-ready', now).is !== 'done';",
    'ignores(o) && now < now;',
  ]),
  ...of('hooks', `${CORE}/machine/creation/creation.ts`, H, [
    "planHooks(o, 'before-create', now,",
    "planHooks({ ...o, interruptions: undefined, machineClass: undefined }, 'before-create', now,",
  ]),
  ...of('hooks', `${CORE}/hooks/webhooks/call.ts`, H, ['if (status < 200 || status > 299)', 'if (status < 200)']),
  ...of('hooks', `${CORE}/hooks/webhooks/caller.ts`, H, [
    "    if (answer.is === 'finished') {",
    "    if (answer.is !== 'failed') {",
  ]),
  ...of('hooks', `${CORE}/hooks/webhooks/call.ts`, H, [
    'const signatures = keys.map(',
    'const signatures = keys.slice(1).map(',
  ]),
  ...of(
    'zones',
    `${CORE}/zones/spread.ts`,
    Z,
    ['const usable = states.filter(({ evacuated }) => !evacuated);', 'const usable = states;'],
    ['const open = usable.filter(({ standby }) => !standby);', 'const open = usable;'],
    ['  if (roomy.length > 0) return roomy;\n', ''],
    ['if (created !== undefined) return zones.find(({ name }) => name === created);', 'if (created) return zones[0];'],
  ),
  ...of('zones', `${CORE}/zones/places.ts`, Z, ['  return order < 0;', '  return order > 0;']),
  ...from(
    1_800_012,
    of('zones', `${CORE}/set/replicas/deletion-order.ts`, Z, [
      '    first((machine) => rankOf(machine)?.stuck === true),\n',
      '',
    ]),
  ),
  ...from(
    3,
    of(
      'drift',
      `${CORE}/node/drift.ts`,
      ['rolls'],
      ["?.policy ?? 'Enforce';", "?.policy ?? 'Yield';"],
      ['entries.find((one) => one.kind === kind && one.matches(key))?.policy', 'entries.find(() => false)?.policy'],
      ['current !== lastApplied && current !== wanted;', 'current !== lastApplied && current !== wanted && false;'],
    ),
  ),
  ...from(9, [
    ...of('updates', `${CORE}/settings/failed-updates.ts`, I, [
      'node?.metadata.annotations?.[KEY] === STOP;',
      "node?.metadata.annotations?.[KEY] === '';",
    ]),
    ...of('updates', `${CORE}/deployment/in-place/kept-machines.ts`, I, [
      '(keeps && isUpdated ? STOP : undefined)',
      '(keeps && !isUpdated ? STOP : undefined)',
    ]),
    ...of('updates', `${CORE}/machine/health/health.ts`, I, [
      "if (current.phase === 'InPlaceUpdateFailed' && isKeptAfterFailure(o.node))",
      "if (current.phase === 'Pending' && isKeptAfterFailure(o.node))",
    ]),
  ]),
  ...of(
    'interruptions',
    `${CORE}/interruption/notice-decision.ts`,
    ['interruptions'],
    [
      "now <= interruption.deadline) return { do: 'record', interruption };",
      "now <= interruption.deadline) return drop('duplicate');",
    ],
  ),
  ...of(
    'interruptions',
    `${CORE}/interruption/watcher.ts`,
    ['interruptions'],
    ["return outcome === 'later' ? 'later' : 'done';", "return outcome === 'later' ? 'done' : 'later';"],
  ),
  ...of(
    'interruptions',
    `${CORE}/interruption/notice.ts`,
    ['interruptions'],
    [
      "new Set<ReplacingKind>(['Terminate', 'Maintenance', 'Ended']);",
      "new Set<string>(['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance']);",
    ],
  ),
  ...of(
    'windows',
    `${CORE}/rollout/windows/state.ts`,
    ['windows'],
    ['return opened !== null && opened.getTime() <= at;', 'return opened !== null;'],
    ['const closed = closedWindow([own,', 'const closed = closedWindow(['],
  ),
  ...of(
    'windows',
    `${CORE}/rollout/postponement.ts`,
    ['windows'],
    ['machines.filter(isAvailable).flatMap(', 'machines.slice(0, 0).flatMap('],
  ),
  ...of(
    'warm',
    `${CORE}/set/replicas/warm-pool.ts`,
    ['warm'],
    ["currentStatus: { phase: 'Pending', lastUpdateTime },", "currentStatus: { phase: 'Running', lastUpdateTime },"],
    ['[Annotations.WarmState]: null,', ''],
  ),
  ...of(
    'warm',
    `${CORE}/deployment/warm/warm-plan.ts`,
    ['warm'],
    [
      'const missing = count - (kept.length - surplus.length);',
      'const missing = count + 1 - (kept.length - surplus.length);',
    ],
  ),
  ...of('canary', `${CORE}/rollout/canary-pods.ts`, OPT_IN.canary, [
    'counts(pod) && isOld(pod) && !isReady(pod)',
    'counts(pod) && !isOld(pod) && !isReady(pod)',
  ]),
  ...of('canary', `${CORE}/deployment/rollout/canary-look.ts`, OPT_IN.canary, [
    'input.machines.filter(isAvailable)',
    'input.machines.slice(0, 0)',
  ]),
  ...of('canary', `${CORE}/deployment/plan.ts`, OPT_IN.canary, [
    'current !== undefined && recorded !== current ? null : undefined;',
    'current !== undefined && recorded === current ? undefined : undefined;',
  ]),
  ...of('buffers', `${CORE}/deployment/warm/buffers.ts`, OPT_IN.buffers, [
    'controller.watch(caches.buffers, ({ key }) => follower.of(key), all);',
    'controller.watch(caches.buffers, () => [], all);',
  ]),
  ...of('buffers', `${CORE}/deployment/warm/buffers.ts`, OPT_IN.buffers, [
    'controller.watch(caches.templates, ({ key }) => follower.ofTemplate(key), all);',
    'controller.watch(caches.templates, () => [], all);',
  ]),
  ...of('buffers', `${CORE}/warm/buffer.ts`, OPT_IN.buffers, [
    'Math.ceil(Math.max(pods, 0) / perMachine)',
    'Math.floor(Math.max(pods, 0) / perMachine)',
  ]),
  ...of('reports', `${CORE}/disruption/report/tally.ts`, OPT_IN.reports, [
    'counts.machines -= 1;',
    'counts.machines -= counts.machines > 1 ? 0 : 1;',
  ]),
  ...of('reports', `${CORE}/disruption/report/rows.ts`, OPT_IN.reports, [
    'budget.rolling ? Math.max(budget.unavailable, 1) : allowance;',
    'budget.rolling ? budget.unavailable + 1 : allowance;',
  ]),
  ...of('reports', `${CORE}/safety/disruptions/controller.ts`, OPT_IN.reports, [
    'if (stored.get(key) !== text) changes[key] = text;',
    'changes[key] = text;',
  ]),
  ...of(
    'marks',
    `${CORE}/deployment/scaling/mark-expiry.ts`,
    OPT_IN.marks,
    [
      'const machines = marked.filter(({ expiresAt }) => expiresAt <= now)',
      'const machines = marked.filter(({ expiresAt }) => +expiresAt <= +now + afterMs)',
    ],
    ['list: listWithout(deployment, machines),', 'list: undefined,'],
    ['time === undefined ? [] : [{ machine, expiresAt: new Date(time + afterMs) }];', '(time ?? 0) > 0 ? [] : [];'],
  ),
  ...of('volumes', `${CORE}/drain/volumes/volumes.ts`, OPT_IN.volumes, [
    'if (busyDriver(o, used, pod.volumes) !== undefined) break;',
    'if (o.urgent) break;',
  ]),
  ...of('volumes', `${CORE}/drain/volumes/volume-pace.ts`, OPT_IN.volumes, [
    'const others = (this.#totals.get(driver) ?? 0) - (own?.get(driver) ?? 0);',
    'const others = (own?.get(driver) ?? 0) - (own?.get(driver) ?? 0);',
  ]),
  ...of('volumes', `${CORE}/machine/reconciler.ts`, OPT_IN.volumes, [
    'pace.moves(machine.metadata.uid, moving);',
    'undefined;',
  ]),
  ...of(
    'rates',
    `${CORE}/driver/cloud/learned-rate.ts`,
    ['budgets'],
    [
      'this.#nextFree = Math.max(this.#nextFree, now + (boundedWait(retryAfterMs) ?? 0));',
      'this.#nextFree = Math.max(this.#nextFree, now);',
    ],
    ['const rank = LANES.indexOf(lane);', 'const rank = 0;'],
    [
      'return Math.max(this.#limit * (1 + GROWTH) ** seconds, this.#limit + GROWTH_AT_LEAST * seconds);',
      'return this.#limit;',
    ],
  ),
  ...of(
    'rates',
    `${CORE}/driver/cloud/account-rates.ts`,
    ['budgets'],
    [
      'const rates = this.#accounts.get(key) ?? new LearnedRates(this.#clock);',
      'const rates = new LearnedRates(this.#clock);',
    ],
  ),
  ...of(
    'journal',
    `${CORE}/journal/journal.ts`,
    ['journal'],
    ['if (mine.length > perObject && oldest !== undefined) this.#remove(oldest);', ''],
    ['if (same.size > total / 2 && first !== undefined) this.#remove(first);', ''],
  ),
  ...of(
    'journal',
    `${CORE}/replay/codec.ts`,
    ['journal'],
    ['if (key === Annotations.LastAppliedConfiguration) continue;', ''],
    ['const { providerSpec: _spec, ...rest }: KubeObject & { providerSpec?: unknown } =', 'const rest: KubeObject ='],
    [
      'if (value instanceof Map) return { $map: [...value].map(([key, each]) => [this.encode(key), this.encode(each)]) };',
      'if (value instanceof Map) return { $map: [] };',
    ],
  ),
  ...of(
    'journal',
    `${CORE}/replay/replay.ts`,
    ['journal'],
    ["return difference && { record, difference, because: '' };", 'return undefined;'],
  ),
  ...of(
    'groups',
    `${CORE}/autoscaler/node-groups.ts`,
    ['groups'],
    [
      'return isTerminating(machine) || isAccepted(deployment, name) ? [] : [name];',
      'return isTerminating(machine) ? [] : [name];',
    ],
    ['if (pendingScaleIn(deployment) !== undefined) {', "if (pendingScaleIn(deployment) === '') {"],
    [
      'const size = (deployment.spec.replicas ?? 0) + delta;\n        if (size > maxSize)',
      'const size = this.targetSize(id) + delta;\n        if (size > maxSize)',
    ],
    ['metadata: { annotations: { [Annotations.ScaleIn]: JSON.stringify({ requestID, machines, from, to }) } },', ''],
    ['if (isRemoval && !isApplied(deployment)) {', 'if (isRemoval && !deployment) {'],
  ),
  ...of('plane', `${STORE}/file-store.ts`, D, [
    '      this.#write(pending);\n',
    '      setImmediate(() => setImmediate(() => !this.#closed && this.#write(pending)));\n',
  ]),
  ...from(16, of('plane', `${STORE}/history.ts`, D, ['    if (revision < this.#compacted) return undefined;\n', ''])),
  ...discovery(7, 'cluster-api.ts', [
    'return existing.filter((cluster) => !isPausedCluster(cluster));',
    'return existing;',
  ]),
  ...discovery(14, 'cluster-api.ts', ['members.leaves(name, this.#secrets.stop(name));', 'this.#secrets.stop(name);']),
  ...discovery(26, 'cluster-api.ts', ['if (more.length > 0) {', 'if (more.length > 9) {']),
  ...discovery(31, 'cluster-api.ts', ['    informer.onChange(changed);\n', '']),
  ...discovery(22, 'cluster-profiles.ts', ['found.disengage(name);', 'undefined;']),
  ...discovery(10, 'cluster-profiles.ts', [
    'credentials.onChange((change) => {',
    "credentials.onChange((change) => {\n if (change.type === 'updated') return;",
  ]),
  ...from(
    2019999,
    of(
      'fence',
      'packages/kube/src/election/candidate.ts',
      ['leases'],
      ['    while (!this.#isFresh()) {', '    if (!this.#isFresh()) {'],
    ),
  ),
  ...from(
    2020003,
    of(
      'drain',
      `${CORE}/drain/observe.ts`,
      ['volumes'],
      [
        'latest(unresponsiveAt(machine, node, settings), options.healthDoubtedUntil)',
        'unresponsiveAt(machine, node, settings)',
      ],
    ),
  ),
  ...from(
    2030001,
    of(
      'idempotency',
      `${CORE}/set/reconciler.ts`,
      ['restores'],
      ['toDelete.length + plan.create > 0 &&', 'toDelete.length > 0 &&'],
    ),
  ),
  ...from(
    1910008,
    of(
      'budget',
      `${CORE}/set/replicas/outdated-size.ts`,
      ['budgets'],
      ['if (total >= least && setsWithMachines < 2 && !', 'if (total >= least && setsWithMachines < 9 && !'],
    ),
  ),
];

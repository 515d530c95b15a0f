/**
 * Test files that run only with `MCM_THOROUGH=1`, as in `.ci/run`. Each list has the reason why a plain run does not
 * need its files. A command that names a file always runs the file.
 */
export const THOROUGH_ONLY: readonly string[] = [
  // These tests verify the verifiers: they break the product on purpose, and a verifier must report the fault.
  'e2e/src/golden/machine-config/mutations.test.ts',
  'e2e/src/golden/takeover/differences.test.ts',
  'e2e/src/golden/takeover/own-histories.test.ts',
  'e2e/src/golden/takeover/variations.test.ts',
  'e2e/src/simulation/interruption-mutants.test.ts',
  'e2e/src/simulation/journal.test.ts',
  'e2e/src/simulation/machines/machine-history.test.ts',
  'e2e/src/simulation/machines/mutants.test.ts',
  'e2e/src/simulation/machines/first-faults.test.ts',
  'e2e/src/simulation/mutants.test.ts',
  'packages/machine-config/src/histories/verifier.test.ts',
  'e2e/src/simulation/clusters/fleet-mutants.test.ts',
  // Other tests of a plain run start the same programs, with fewer cases.
  'e2e/src/bad-input/real-binaries.test.ts',
  'e2e/src/clients/clients.test.ts',
  'e2e/src/config-daemon/pod.test.ts',
  'e2e/src/conformance/network/network.test.ts',
  'e2e/src/deploy/api-server.test.ts',
  'e2e/src/deploy/machine-permissions.test.ts',
  'e2e/src/hand-over/processes.test.ts',
  'e2e/src/hand-over/real-binaries.test.ts',
  'e2e/src/kubectl/generators.test.ts',
  'e2e/src/kubectl/plugin.test.ts',
  'e2e/src/kubectl/restore.test.ts',
  'e2e/src/kubectl/strategies.test.ts',
  'e2e/src/kubectl/workloads.test.ts',
  'e2e/src/kubectl/write.test.ts',
  'e2e/src/up-clouds.test.ts',
  'e2e/src/up-driver.test.ts',
  'e2e/src/up-machine-config.test.ts',
  'e2e/src/up-stopped-manager.test.ts',
  'tools/src/bundle/launcher.test.ts',
  // Only a change of the tool itself can break these tests.
  'e2e/src/simulation/swarm/swarm.test.ts',
  'e2e/src/simulation/swarm/work.test.ts',
  'tools/src/advisories/audit.test.ts',
  'tools/src/control-plane-fuzz/control-plane-fuzz.test.ts',
  'tools/src/image/image.test.ts',
  // These tests count the work of the code. Other tests of a plain run verify the results of the same code.
  'e2e/src/imports/at-start.test.ts',
  'packages/control-plane/src/registry/work-of-access.test.ts',
  'packages/control-plane/src/server/api-documents.test.ts',
  // A plain run plays the same rules with fewer orders of events, in other tests.
  'e2e/src/simulation/careful-rollout.test.ts',
  'e2e/src/simulation/join-conflicts.test.ts',
  'e2e/src/simulation/leases.test.ts',
  'packages/core/src/deployment/scale-in-orders.test.ts',
  'packages/core/src/run/incidents.test.ts',
  'packages/core/src/run/late-start.test.ts',
  // A plain run plays the conformance kit once for each driver.
  'packages/conformance/src/slow.test.ts',
  // A plain run kills the processes at fewer times, in other tests.
  'e2e/src/simulation/crash.test.ts',
  'packages/core/src/deployment/kills.test.ts',
  'packages/core/src/run/crash-kept.test.ts',
];

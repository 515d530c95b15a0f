/** Manifests for the tests of whoever serves, validates or reconciles these kinds. */

export {
  type BadManifest,
  badManifests,
  classManifest,
  deploymentManifest,
  goodManifests,
  type Manifest,
  machineManifest,
  setManifest,
} from './manifests.ts';

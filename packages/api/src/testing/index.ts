export { Autoscaler, SCALER_FORMS, type ScalerForm, type ScalerPort } from './autoscaler.ts';
export { crdsWithoutRules } from './crds.ts';
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

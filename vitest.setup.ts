import * as fc from 'fast-check';

// The same histories in every run, so that a red run is the change's own doing. Other ones: `MCM_PROPERTY_SEED=$RANDOM`.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.MCM_PROPERTY_SEED ?? 20260101) });
